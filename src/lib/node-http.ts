/**
 * The parts of `node:http` that Carrel itself uses. An `import` of that module would make a namespace of all
 * its exports, and so load an unused HTTP client: 3 MB in each worker.
 */
export const { METHODS, STATUS_CODES } = process.getBuiltinModule('node:http')
