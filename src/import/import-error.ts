import { OperatorError } from '../model/errors.ts'

/** The import can't be done; the message names the line where there is one, and says what would be right. */
export class ImportError extends OperatorError {}
