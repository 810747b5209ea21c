// A converter from Anthropic's messages to OpenAI's chat, as an agent in TypeScript has one, behind the few lines at the
// end that `demeanor gateway contract` needs. Node 22.18 or newer runs it as it is; with an older one, write
// "npx --yes tsx convert.ts" in place of "node convert.ts".
//
//   demeanor gateway contract --converter "node convert.ts" -k "Thinking Trace and anthropic → openai-chat"  # all pass
//   demeanor gateway contract --converter "node convert.ts" -k "Tool Call and anthropic → openai-chat"       # 8 bugs
import { createHash } from "node:crypto";
import { createInterface } from "node:readline";

interface Block {
  type: "text" | "thinking" | "redacted_thinking" | "tool_use" | "tool_result";
  text?: string;
  thinking?: string;
  signature?: string;
  data?: string;
  id?: string;
  name?: string;
  input?: unknown;
  tool_use_id?: string;
  content?: string | Block[];
}
interface Message {
  role: "user" | "assistant";
  content: string | Block[];
}
interface Question {
  source: string;
  target: string;
  kind: "request" | "response" | "stream";
  body: string;
}

const MOST_CHARACTERS = 40; // OpenAI refuses longer ids of tool calls

function shortId(id: string): string {
  if (id.length <= MOST_CHARACTERS) return id;
  return "call_" + createHash("sha256").update(id).digest("hex").slice(0, MOST_CHARACTERS - 5);
}

function text(content: string | Block[] | undefined): string {
  if (typeof content === "string") return content;
  return (content ?? []).filter((block) => block.type === "text").map((block) => block.text).join("\n");
}

function assistant(blocks: Block[]): object {
  const details = blocks.flatMap((block): object[] => {
    if (block.type === "redacted_thinking") return [{ type: "reasoning.encrypted", data: block.data }];
    if (block.type !== "thinking" || !block.signature) return [];
    return [{ type: "reasoning.text", text: block.thinking, signature: block.signature }];
  });
  const unsigned = blocks.find((block) => block.type === "thinking" && !block.signature);
  const calls = blocks.filter((block) => block.type === "tool_use").map((block) => ({
    id: shortId(block.id!),
    type: "function",
    function: { name: block.name, arguments: JSON.stringify(block.input) },
  }));
  return {
    role: "assistant",
    content: text(blocks) || null,
    ...(details.length > 0 && { reasoning_details: details }),
    ...(unsigned && { reasoning_content: unsigned.thinking }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

function user(blocks: Block[]): object[] {
  const results = blocks.filter((block) => block.type === "tool_result").map((block) => ({
    role: "tool",
    tool_call_id: shortId(block.tool_use_id!),
    content: text(block.content),
  }));
  const said = text(blocks);
  return said ? [...results, { role: "user", content: said }] : results;
}

export function toOpenAiMessages(messages: Message[]): object[] {
  return messages.flatMap((message): object[] => {
    const blocks: Block[] =
      typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content;
    return message.role === "assistant" ? [assistant(blocks)] : user(blocks);
  });
}

function answer(question: Question): object {
  const { source, target, kind } = question;
  if (source !== "anthropic" || target !== "openai-chat" || kind !== "request") {
    return { error: `no converter for a ${kind} from ${source} to ${target}` };
  }
  const request = JSON.parse(question.body) as { model: string; messages: Message[] };
  return { body: { model: request.model, messages: toOpenAiMessages(request.messages) } };
}

createInterface({ input: process.stdin }).on("line", (line) => {
  console.log(JSON.stringify(answer(JSON.parse(line) as Question)));
});
