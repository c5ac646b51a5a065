import { OperatorError } from '../model/errors.ts'

/** The import can't be done. The message names the line if there is one, and says what would be right. */
export class ImportError extends OperatorError {
  /** The field or column that the error concerns. */
  readonly field: string | undefined

  constructor(message: string, { field, ...options }: ErrorOptions & { readonly field?: string } = {}) {
    super(message, options)
    this.field = field
  }
}
