import type { Item } from '../../records/items.ts'

/** An item with what a citation names besides its metadata. */
export interface Cited {
  readonly item: Item
  /** The name of the repository. */
  readonly repository: string
  /** The address of the item's page. */
  readonly address: string
}

const all = ({ metadata }: Item, field: string) =>
  (metadata[field] ?? []).map(({ value }) => value.replaceAll(/\s+/g, ' ').trim()).filter(Boolean)

const first = (item: Item, ...fields: readonly string[]) => fields.flatMap(field => all(item, field))[0]

/** A DOI as it is printed. One that is given as an address is percent-encoded there. */
function doiOf(text: string): string {
  const [, address = '', doi = ''] =
    /^(?:doi:\s*|(https?:\/\/(?:dx\.)?doi\.org\/))?(.*)$/is.exec(text.trim()) ?? []
  try {
    return address === '' ? doi : decodeURIComponent(doi)
  } catch {
    return doi
  }
}

/** The address at which a DOI leads to its object. @returns undefined for a text that is no DOI */
export function addressOfDoi(text: string): string | undefined {
  const doi = doiOf(text)
  if (!/^10\.\d{4,9}\/\S+$/.test(doi) || !doi.isWellFormed()) return undefined
  return `https://doi.org/${doi.split('/').map(encodeURIComponent).join('/')}`
}

/** Everything that a citation says. */
function factsOf({ item, repository, address }: Cited) {
  const given = first(item, 'dc.identifier.doi')
  const doi = given && doiOf(given)
  const link = all(item, 'dc.identifier.uri').find(one => /^https?:\/\/[^\s<>"]+$/i.test(one))
  return {
    authors: item.authors.map(one => one.replaceAll(/\s+/g, ' ').trim()).filter(Boolean),
    title: (item.title ?? item.identifier).replaceAll(/\s+/g, ' ').trim(),
    date: /^\d{4}(?:-\d\d){0,2}/.exec(item.issued ?? '')?.[0],
    publisher: first(item, 'dc.publisher') ?? repository,
    repository,
    kind: item.type?.toLowerCase() ?? '',
    isbn: first(item, 'dc.identifier.isbn'),
    doi,
    language: first(item, 'dc.language.iso', 'dc.language'),
    link: (given && addressOfDoi(given)) || link || address,
  }
}

/** A citation in words, such as “Bertha (1790). Letter. Archive. https://…”. */
export function asText(cited: Cited): string {
  const { authors, title, date, publisher, repository, link } = factsOf(cited)
  const names = authors.length > 3 ? `${authors[0]} et al.` : authors.join('; ')
  const begin = [names, date && `(${date.slice(0, 4)})`].filter(Boolean).join(' ')
  const sources = [...new Set([publisher, repository])]
  return [begin, title, ...sources]
    .filter(Boolean)
    .map(part => (/[.?!]$/.test(part) ? part : `${part}.`))
    .concat(link)
    .join(' ')
}

/** Characters with a meaning in TeX, and how each is written to stand for itself. */
const tex: Readonly<Record<string, string>> = {
  '\\': '\\textbackslash{}',
  '{': '\\{',
  '}': '\\}',
  '~': '\\textasciitilde{}',
  '^': '\\textasciicircum{}',
}
const inTex = (text: string) =>
  text.replaceAll(/[\\{}~^#$%&_]/g, character => tex[character] ?? `\\${character}`)

const kinds = [
  [/article|paper|aufsatz|artikel/, 'article', 'article-journal'],
  [/thesis|dissertation/, 'phdthesis', 'thesis'],
  [/book|monograph|buch/, 'book', 'book'],
  [/dataset|daten/, 'misc', 'dataset'],
  [/letter|manuscript|brief/, 'misc', 'manuscript'],
  [/image|photo|picture|bild/, 'misc', 'graphic'],
  [/map|karte/, 'misc', 'map'],
] as const
const kindOf = (kind: string) => kinds.find(([pattern]) => pattern.test(kind))

/** The key of an entry: the first author's last name, the year and a word of the title, in plain letters. */
function keyOf(authors: readonly string[], date: string | undefined, title: string): string {
  const plain = (text: string) => text.normalize('NFD').replaceAll(/[^A-Za-z0-9]/g, '')
  const word =
    title
      .split(' ')
      .map(plain)
      .find(one => one.length > 3) ?? ''
  return [plain(authors[0]?.split(',', 1)[0] ?? ''), date?.slice(0, 4), word.toLowerCase()].join('') || 'item'
}

export function asBibtex(cited: Cited): string {
  const { authors, title, date, publisher, kind, isbn, doi, language, link } = factsOf(cited)
  const [year, month] = date?.split('-') ?? []
  // A name in braces stays whole, so that an “and” in it doesn't part it.
  const names = authors.map(one => (/ and /i.test(one) ? `{${inTex(one)}}` : inTex(one)))
  const fields = {
    author: names.join(' and '),
    title: `{${inTex(title)}}`,
    year,
    month: month && String(Number(month)),
    publisher: inTex(publisher),
    isbn: isbn && inTex(isbn),
    doi: doi && inTex(doi),
    language: language && inTex(language),
    // Braces would end the field; in addresses they are written as %7B and %7D.
    url: link.replaceAll('{', '%7B').replaceAll('}', '%7D'),
  }
  const lines = Object.entries(fields).flatMap(([name, value]) => (value ? [`  ${name} = {${value}}`] : []))
  return `@${kindOf(kind)?.[1] ?? 'misc'}{${keyOf(authors, date, title)},\n${lines.join(',\n')}\n}`
}

export function asCslJson(cited: Cited): string {
  const { authors, title, date, publisher, repository, kind, isbn, doi, language, link } = factsOf(cited)
  const nameOf = (name: string) => {
    const [family, given, ...more] = name.split(', ')
    return family && given && more.length === 0 ? { family, given } : { literal: name }
  }
  const entry = {
    id: cited.item.uuid,
    type: kindOf(kind)?.[2] ?? 'document',
    title,
    ...(authors.length > 0 ? { author: authors.map(nameOf) } : {}),
    ...(date ? { issued: { 'date-parts': [date.split('-').map(Number)] } } : {}),
    publisher,
    archive: repository,
    ...(isbn ? { ISBN: isbn } : {}),
    ...(doi ? { DOI: doi } : {}),
    ...(language ? { language } : {}),
    URL: link,
  }
  return JSON.stringify([entry], null, 2)
}
