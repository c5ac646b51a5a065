import { badParameter, type Query, wholeNumber } from './parameters.ts'

/** Names in all paths that a request may give, and links from the first resource to the last one embedded. */
const maxNames = 50
const maxDepth = 5
/** Elements of an embedded list. */
const maxSize = 100
/** The links of a resource to embed, by name. */
export type Wanted = Map<string, { readonly below: Wanted; size?: number }>

/** The parameters `embed` and `embed.size`. @throws Problem 400 */
export function readEmbeds({ values }: Query): Wanted {
  const wanted: Wanted = new Map()
  let names = 0
  for (const path of (values.get('embed') ?? []).flatMap(one => one.split(','))) {
    let at = wanted
    for (const name of namesIn(path)) {
      const known = at.get(name) ?? { below: new Map() }
      if (!at.has(name)) {
        at.set(name, known)
        names += 1
      }
      if (names > maxNames)
        throw badParameter('embed', path, `The parameters embed name more than ${maxNames} links.`)
      at = known.below
    }
  }
  for (const given of values.get('embed.size') ?? []) {
    const [path = '', size = ''] = given.split('=')
    const length = Math.min(wholeNumber('embed.size', size, 1), maxSize)
    let at: Wanted | undefined = wanted
    const steps = namesIn(path)
    for (const name of steps.slice(0, -1)) at = at?.get(name)?.below
    const last = at?.get(steps.at(-1) ?? '')
    if (last) last.size = length
  }
  return wanted
}

const namesIn = (path: string): readonly string[] => path.split('/', maxDepth).filter(name => name !== '')
