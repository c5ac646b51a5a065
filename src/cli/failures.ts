import { OperatorError } from '../lib/errors.ts'
/** The command failed. The message says why, and what would help. Exit code 1. */
export class Failure extends OperatorError {}

/** Wrong usage of a command. Exit code 2. */
export class Misuse extends OperatorError {}
