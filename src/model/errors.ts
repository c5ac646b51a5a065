/** Something that an operator can put right. The message says all of it in one line; a stack would only hide it. */
export class OperatorError extends Error {}

/** The store can't be reached, is locked, or is full. Nothing was partly done, and the request can be retried later. */
export class StoreUnavailable extends OperatorError {}

/** A query needs more than is held in memory for one. The message tells the client what is too much, and what would do. */
export class TooMuch extends Error {}
