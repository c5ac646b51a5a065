/** Something that an operator can put right. The message says all of it in one line; a stack would only hide it. */
export class OperatorError extends Error {
  /** More lines, where several things are to be put right. */
  readonly details: readonly string[] = []
}

/** The store can't be reached, is locked, or is full. Nothing was partly done, and the request can be retried later. */
export class StoreUnavailable extends OperatorError {}

/** A signal has ended the work. */
export class Interrupted extends OperatorError {}

/** The sessions that a change relies on had changed before it was made (T12). Nothing was done. */
export class RightsChanged extends Error {}

/** An engine can't run a query, although it is right. The message tells the client what it lacks, and what would do. */
export class PlanRefused extends Error {}

/** A query needs more than is held in memory for one. */
export class TooMuch extends PlanRefused {}
