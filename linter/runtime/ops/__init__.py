"""The operations, by kind; each is a forward over arrays and a backward over tensors."""
