/**
 * What Carrel uses of `node:http` itself. An `import` of that module makes a namespace of all that it exports, and with it
 * loads clients that nobody asked for: 40 ms of each start.
 */
export const { METHODS, STATUS_CODES } = process.getBuiltinModule('node:http')
