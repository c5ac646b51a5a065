import { createRequire } from 'node:module'

/**
 * Returns a function that loads a package on first use. Each event loop keeps its own copy of what it has
 * loaded, and most of them never need regular expressions or forms with files.
 * @returns a function with the result of `require`
 */
export function onDemand<Package>(name: string): () => Package {
  let loaded: Package | undefined
  return () => {
    loaded ??= createRequire(import.meta.url)(name) as Package
    return loaded
  }
}
