/** The store can't be reached, is locked or full: the request may be repeated later. Nothing was done by half. */
export class StoreUnavailable extends Error {}
