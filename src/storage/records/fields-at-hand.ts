import type { FieldRef } from '../../model/plan.ts'
import { indexOf, isDerived, nameOf } from '../columns/columns.ts'
import type { GivenSlots } from '../columns/edits.ts'
import type { PackedChanges, RevisedField } from '../columns/field-changes.ts'
import type { StoredField } from '../columns/stored-field.ts'
import type { RecordEntity, RevisedRecords } from '../entities.ts'
import type { RecordCache } from '../runtime/version-cache.ts'
import type { FieldFiles } from './field-files.ts'
import { KeptFacts, type RunLater, type Turn } from './kept-facts.ts'
import { baseEntity, type Changed, changesOf } from './pending-changes.ts'

/** Derives facts about versions with changes of single records (docs/decisions/0041). */
export interface ChangedFacts {
  /** The edits of the records, and the slots of the written ones. */
  slotChanges(turn: Turn, changed: Changed): Promise<Uint32Array<SharedArrayBuffer>>
  /** Returns the differences between a field and the file that its base has of it. */
  fieldChanges(turn: Turn, changed: Changed, field: number, base: StoredField): Promise<PackedChanges>
  /** Returns the differences that an update by file makes, before its version is written. */
  revisedChanges(
    turn: Turn,
    base: RecordEntity,
    revised: Pick<RevisedRecords, 'edits' | 'written'>,
    field: number,
    stored: StoredField,
  ): Promise<PackedChanges>
}

/** Facts about fields that come from files: those of a version or, if single records were changed, those of its base. */
export class FieldsAtHand extends KeptFacts {
  protected readonly files: FieldFiles
  readonly #changed: ChangedFacts | undefined

  /** @param changed derives changed versions; undefined: there are none */
  constructor(
    cache: RecordCache,
    files: FieldFiles,
    later: RunLater = async () => {},
    changed?: ChangedFacts,
  ) {
    super(cache, later)
    this.files = files
    this.#changed = changed
  }

  /** Returns the file of a field. Members inside of a field, and changed versions, have none. */
  stored(entity: RecordEntity, ref: FieldRef): StoredField | undefined {
    if (isDerived(ref) || changesOf(entity)) return undefined
    return this.files.stored(entity, indexOf(entity, ref))
  }

  /** Like `stored`, but brings a file that this node lacks from where nodes share them. */
  async fetched({ client }: Turn, entity: RecordEntity, ref: FieldRef): Promise<StoredField | undefined> {
    if (isDerived(ref) || changesOf(entity)) return undefined
    return this.files.fetch(entity, indexOf(entity, ref), client)
  }

  /** Returns the file of a field, or for a changed version, the file of the base with what is different. */
  async given(
    turn: Turn,
    entity: RecordEntity,
    ref: FieldRef,
  ): Promise<StoredField | RevisedField | undefined> {
    return (await this.fetched(turn, entity, ref)) ?? this.revised(turn, entity, ref)
  }

  /** The result of `given` if it is at hand. */
  peekGiven(entity: RecordEntity, ref: FieldRef): StoredField | RevisedField | undefined {
    const changed = changesOf(entity)
    if (!changed) return this.stored(entity, ref)
    const base = this.stored(changed.base, ref)
    const changes = base && this.peekKept<PackedChanges>(entity, changesName(entity, ref))
    return base && changes && { base, changes }
  }

  /** Returns the field of a changed version over the file of its base, if that has one. */
  async revised(turn: Turn, entity: RecordEntity, ref: FieldRef): Promise<RevisedField | undefined> {
    const changed = changesOf(entity)
    if (!changed || isDerived(ref)) return undefined
    const base = await this.fetched(turn, changed.base, ref)
    if (!base) return undefined
    const changes = await this.kept(turn, entity, changesName(entity, ref), async () => {
      if (!this.#changed) throw new Error('a changed version is derived where there are none')
      return this.#changed.fieldChanges(turn, changed, indexOf(entity, ref), base)
    })
    return { base, changes }
  }

  /** Returns a field of a new version, which has other records than one that is stored. */
  async revisedBy(
    turn: Turn,
    base: RecordEntity,
    ref: FieldRef,
    revised: Pick<RevisedRecords, 'edits' | 'written'>,
  ): Promise<RevisedField | undefined> {
    const stored = await this.fetched(turn, base, ref)
    if (!stored || !this.#changed) return undefined
    const field = indexOf(base, ref)
    return {
      base: stored,
      changes: await this.#changed.revisedChanges(turn, base, revised, field, stored),
    }
  }

  /** The slots of a revision, or of a changed version; null: the numbers of the records. */
  async slots(turn: Turn, entity: RecordEntity): Promise<GivenSlots | null> {
    const changed = changesOf(entity)
    if (!changed || !this.#changed) return this.baseSlots(turn, entity)
    const derive = this.#changed
    const before = await this.baseSlots(turn, changed.base)
    return {
      before,
      changes: await this.kept(turn, entity, 'slot changes', () => derive.slotChanges(turn, changed)),
    }
  }

  /** The slots of a version that is stored. */
  async baseSlots(turn: Turn, entity: RecordEntity): Promise<Uint32Array<SharedArrayBuffer> | null> {
    if (entity.source.slots === undefined) return null
    return this.kept(turn, entity, 'slots', () => turn.work.slots(entity))
  }

  /** The result of `slots` if it is at hand; otherwise undefined. */
  peekSlots(entity: RecordEntity): GivenSlots | null | undefined {
    const base = baseEntity(entity)
    const before =
      base.source.slots === undefined ? null : this.peekKept<Uint32Array<SharedArrayBuffer>>(base, 'slots')
    if (base === entity || before === undefined) return before
    const changes = this.peekKept<Uint32Array<SharedArrayBuffer>>(entity, 'slot changes')
    return changes && { before, changes }
  }
}

const changesName = (entity: RecordEntity, ref: FieldRef): string => `changes ${nameOf(entity, ref)}`
