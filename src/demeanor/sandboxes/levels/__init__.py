"""The isolation levels: none, landlock, bubblewrap, docker/podman and seatbelt."""
