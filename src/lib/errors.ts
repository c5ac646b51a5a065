import { Overloaded } from './fair-queue.ts'

/** An error that an operator can fix. The message says everything in one line; a stack would only hide it. */
export class OperatorError extends Error {
  /** Further lines, if several things have to be fixed. */
  readonly details: readonly string[] = []
}

/**
 * The store can't be reached, is locked, or is full. Nothing was partly done, and the
 * request can be retried later.
 */
export class StoreUnavailable extends OperatorError {}

/** The place of files can't be reached or used for the moment. Nothing was partly done. */
export class FilesUnavailable extends StoreUnavailable {}

/** This process, or the machine, can open no more files. It passes by itself. */
export class OutOfDescriptors extends StoreUnavailable {}

/** The place of files has no more room. */
export class FilesFull extends FilesUnavailable {}

/** The place of files refuses its settings, such as credentials or a region. */
export class MisconfiguredFiles extends FilesUnavailable {}

/** The place of files has answered with something else than was asked for, or has kept something else. */
export class WrongAnswer extends FilesUnavailable {}

/** The place of files doesn't know the request. */
export class UnknownRequest extends FilesUnavailable {}

/** A signal has ended the work. */
export class Interrupted extends OperatorError {}

/** The sessions that a change relies on were changed before it was made (T12). Nothing was done. */
export class RightsChanged extends Error {}

/** New versions of an entity lag too far behind what is written to it. Nothing was done, and it passes by itself. */
export class Lagging extends Overloaded {}

/**
 * An engine can't run a query although the query is correct. The message tells the client what the engine
 * lacks, and what would work instead.
 */
export class PlanRefused extends Error {
  /** More members of the problem, as of a `QueryError`. */
  readonly members: Readonly<Record<string, unknown>>

  constructor(message: string, members: Readonly<Record<string, unknown>> = {}) {
    super(message)
    this.members = members
  }
}

/** A query needs more memory than a single query may use. */
export class TooMuch extends PlanRefused {}
