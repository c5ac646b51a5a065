/** The store can't be reached, is locked, or is full. Nothing was partly done, and the request can be retried later. */
export class StoreUnavailable extends Error {}
