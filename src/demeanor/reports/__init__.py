"""The reports that several commands show, one package each: values, and how every format shows them."""
