/** The command could not do what was asked; the message says why and what would help. Exit code 1. */
export class Failure extends Error {}

/** The command was called the wrong way. Exit code 2. */
export class Misuse extends Error {}
