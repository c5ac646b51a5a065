import { createRequire } from 'node:module'

/**
 * A package that is loaded when it is first needed. Each event loop keeps its own copy of what it has loaded, and most of
 * them never see a regular expression or a form with a file.
 * @returns what `require` gives for the name
 */
export function onDemand<Package>(name: string): () => Package {
  let loaded: Package | undefined
  return () => {
    loaded ??= createRequire(import.meta.url)(name) as Package
    return loaded
  }
}
