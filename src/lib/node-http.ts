/**
 * What Carrel uses of `node:http` itself. An `import` of that module makes a namespace of all that it exports, and with it
 * loads a client that nobody asked for: 3 MB of each worker.
 */
export const { METHODS, STATUS_CODES } = process.getBuiltinModule('node:http')
