import { hasAttribute, type Idp } from './idp.ts'

/** A page of the identity providers that a user may choose from. */
export interface Found {
  readonly total: number
  /** Counted from 1. */
  readonly page: number
  readonly pages: number
  readonly idps: readonly { readonly entityId: string; readonly name: string }[]
}

export interface SearchIndex {
  /** @param text the user's input: words of a name, a domain, or an email address */
  search(text: string, page: number): Found
}

const pageSize = 20
const maxWords = 8
/**
 * Identity providers of this category (SAML Metadata Extension for Entity Attributes, REFEDS) are not
 * offered, but may log users in.
 */
const category = 'http://macedir.org/entity-category'
const hidden = 'http://refeds.org/category/hide-from-discovery'

export function createIndex(idps: Iterable<Idp>): SearchIndex {
  const all = []
  // Read one by one: as objects, all of a federation take far more memory than their names.
  for (const { metadata, listing } of idps) {
    if (hasAttribute(listing, category, hidden)) continue
    const { names, keywords, domainHints } = listing
    const { entityId, scopes } = metadata
    all.push({
      entityId,
      name: (names[0] ?? entityId).slice(0, 200),
      text: folded([...names, ...keywords, ...domainHints, ...scopes, entityId].join('\n')),
    })
  }
  const entries = all.toSorted((a, b) => compareNames(a.name, b.name) || (a.entityId < b.entityId ? -1 : 1))
  return {
    search: (text, page) => {
      const words = wordsOf(text)
      const found =
        words.length === 0 ? entries : entries.filter(one => words.every(word => one.text.includes(word)))
      const [first = ''] = words
      // Names that begin with the input come first: most people mean one of them.
      const begins = found.filter(({ text: names }) => names.startsWith(first))
      const ordered =
        first === '' ? found : [...begins, ...found.filter(({ text: names }) => !names.startsWith(first))]
      const pages = Math.max(1, Math.ceil(ordered.length / pageSize))
      const at = Math.min(Math.max(1, page), pages)
      const shown = ordered.slice((at - 1) * pageSize, at * pageSize)
      return {
        total: ordered.length,
        page: at,
        pages,
        idps: shown.map(({ entityId, name }) => ({ entityId, name })),
      }
    },
  }
}

/** Splits the input into words; of an email address, only the domain counts. */
const wordsOf = (text: string): string[] =>
  folded(text)
    .split(/\s+/)
    .map(word => word.slice(word.lastIndexOf('@') + 1))
    .filter(word => word !== '')
    .slice(0, maxWords)

/** Removes case and accents. */
const folded = (text: string): string => text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()

const { compare: compareNames } = new Intl.Collator('en')
