import type { Group } from './accounts.ts'
import type { ReaderRule } from './readers.ts'

/**
 * Readers that are not groups in Carrel but are shown to DSpace's clients as groups, because these know no
 * other kind of reader: everyone, and every logged-in user. Epersons are not added to them by hand. Their
 * UUIDs are the same in every store (RFC 9562 §5.8).
 */
const openReaders: readonly (readonly [reader: 'anonymous' | 'eperson', group: Group])[] = [
  ['anonymous', { uuid: '00000000-0000-8000-8000-000000000000', name: 'Anonymous' }],
  ['eperson', { uuid: '00000000-0000-8000-8000-000000000001', name: 'Anybody who is logged in' }],
]

export const openGroup = (uuid: string): Group | undefined =>
  openReaders.find(([, group]) => group.uuid === uuid)?.[1]

export const openReader = (uuid: string): ReaderRule['reader'] | undefined =>
  openReaders.find(([, group]) => group.uuid === uuid)?.[0]

export const groupOfOpenReader = (reader: ReaderRule['reader']): Group | undefined =>
  openReaders.find(([one]) => one === reader)?.[1]

/**
 * Appends the matching open groups to a page of groups, after all others.
 * @param text part of a name, or a whole UUID, in lower case
 */
export function withOpenGroups(
  text: string,
  { offset, limit }: { readonly offset: number; readonly limit: number },
  { rows, total }: { readonly rows: readonly Group[]; readonly total: number },
): { readonly rows: readonly Group[]; readonly total: number } {
  const found = openReaders
    .map(([, group]) => group)
    .filter(({ uuid, name }) => uuid === text || name.toLowerCase().includes(text))
  const first = Math.max(offset - total, 0)
  const room = Math.max(limit - rows.length, 0)
  return {
    rows: offset + rows.length < total ? rows : [...rows, ...found.slice(first, first + room)],
    total: total + found.length,
  }
}
