import type { Awaitable } from '../lib/awaitable.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { Bitstream, Content, Item, NewItem } from '../model/items.ts'

/** Items and their bitstreams (contract section 7). Who may read them is not asked here: `readers` say it. */
export interface Repository {
  item(uuid: string): Awaitable<Item | undefined>
  bitstream(uuid: string): Awaitable<Bitstream | undefined>
  /** In the order in which they were put. */
  bitstreamsOf(item: string): Awaitable<readonly Bitstream[]>

  uuidOf(identifier: string): Awaitable<string | undefined>
  /** Of these identifiers, the fingerprints of the items that there are. */
  fingerprints(identifiers: readonly string[]): Awaitable<ReadonlyMap<string, string>>
  /**
   * Adds items, or makes those of the same identifier what they are now: all, or none when it fails. An item keeps its
   * uuid, and so does a bitstream of the same bundle and name.
   * @param event what is written down of each that changed; `event` and `object` are filled in
   */
  putItems(items: readonly NewItem[], event: AuditEvent): Promise<readonly PutOutcome[]>
  /** @returns whether there was one */
  deleteItem(identifier: string, event: AuditEvent): Promise<boolean>

  /** Which store this is, among all that there are: the folder of files belongs to one (docs/decisions/0012). */
  storeId(): Awaitable<string>

  /** Contents that bitstreams have, each once, in the order of SHA-256, behind this one. @param after '' to begin */
  contents(after: string, most: number): Awaitable<readonly Content[]>
  /** Some of the bitstreams that have this content, as `<identifier of the item>, <bundle>/<name>`. */
  holders(sha256: string): Awaitable<readonly string[]>
  /** Which of these a bitstream has. */
  contentsInUse(sha256: readonly string[]): Awaitable<ReadonlySet<string>>
}

export type PutOutcome = 'added' | 'changed' | 'unchanged'
