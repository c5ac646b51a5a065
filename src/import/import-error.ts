import { OperatorError } from '../model/errors.ts'

/** The import can't be done; the message names the line where there is one, and says what would be right. */
export class ImportError extends OperatorError {
  /** The field or column that it is about. */
  readonly field: string | undefined

  constructor(message: string, { field, ...options }: ErrorOptions & { readonly field?: string } = {}) {
    super(message, options)
    this.field = field
  }
}
