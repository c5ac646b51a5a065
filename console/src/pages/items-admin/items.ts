import type { Schemas } from '@carrel/client'
import { type HalPage, service } from '../../api.ts'
import { type DataRecord, loadPage } from '../../entities.ts'
import type { Order } from '../../parts/Table.tsx'
import { literally } from '../../query/conditions.ts'

/** An item as the endpoints for editing return it. */
export type Item = Schemas['Item']

/** Metadata as it is written. The service adds further members to each value when it is read. */
export type Metadata = Readonly<
  Record<string, readonly Pick<Schemas['MetadataValue'], 'value' | 'language'>[]>
>

type Bundle = Schemas['Bundle']

export type Bitstream = Schemas['Bitstream']

export type Policy = Schemas['ResourcePolicy']

const core = '/api/core'
const itemAddress = (uuid: string) => `${core}/items/${encodeURIComponent(uuid)}`
const isUuid = (text: string) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)

/** Returns a query for items by a part of the title or the identifier, or by a whole UUID. */
function asked(text: string, withdrawnOnly: boolean): string {
  const pattern = `(?i)${literally(text)}`
  const found = [
    ['~', 'title', pattern],
    ['~', 'identifier', pattern],
    ...(isUuid(text) ? [['=', 'uuid', text.toLowerCase()]] : []),
  ]
  const conditions = [
    ...(text === '' ? [] : [['or', ...found]]),
    ...(withdrawnOnly ? [['=', 'withdrawn', true]] : []),
  ]
  if (conditions.length === 0) return ''
  return JSON.stringify(conditions.length === 1 ? conditions[0] : ['and', ...conditions])
}

export const findItems = (
  {
    text,
    withdrawn,
    order,
    page,
    size,
  }: {
    readonly text: string
    readonly withdrawn: boolean
    readonly order: readonly Order[]
    readonly page: number
    readonly size: number
  },
  signal: AbortSignal,
): Promise<{ readonly records: readonly DataRecord[]; readonly total: number }> =>
  loadPage(
    'items',
    {
      query: asked(text.trim(), withdrawn),
      order,
      limit: size,
      offset: (page - 1) * size,
    },
    signal,
  )

export interface Tagged {
  readonly item: Item
  readonly tag: string | null
}

export async function loadItem(uuid: string, signal: AbortSignal): Promise<Tagged> {
  const response = await service.value.request('GET', itemAddress(uuid), { signal })
  return { item: (await response.json()) as Item, tag: response.headers.get('etag') }
}

export const addItem = (title: string): Promise<Item> =>
  service.value.post<Item>(`${core}/items`, { json: { metadata: { 'dc.title': [{ value: title }] } } })

type Values = Pick<Item, 'withdrawn' | 'discoverable'> & { readonly metadata: Metadata }

/**
 * Replaces the values of an item. @throws CarrelProblem 412 if the item was changed by another request
 * meanwhile
 */
export const writeItem = (uuid: string, values: Values, tag: string | null): Promise<unknown> =>
  service.value.put(itemAddress(uuid), { json: values, ...(tag ? { headers: { 'if-match': tag } } : {}) })

export const setState = (
  uuid: string,
  path: '/withdrawn' | '/discoverable',
  value: boolean,
): Promise<unknown> => service.value.patch(itemAddress(uuid), { json: [{ op: 'replace', path, value }] })

export const deleteItem = (uuid: string): Promise<unknown> => service.value.delete(itemAddress(uuid))

const whole = <T>(path: string, signal?: AbortSignal): Promise<HalPage<T>> =>
  service.value.list<T>(path).page(0, 100, signal)

/** Loads the bundles with their files, up to 100 of each. */
export async function loadFiles(
  uuid: string,
  signal: AbortSignal,
): Promise<readonly { readonly bundle: Bundle; readonly files: HalPage<Bitstream> }[]> {
  const { items } = await whole<Bundle>(`${itemAddress(uuid)}/bundles`, signal)
  return Promise.all(
    items.map(async bundle => ({
      bundle,
      files: await whole<Bitstream>(`${core}/bundles/${bundle.uuid}/bitstreams`, signal),
    })),
  )
}

export const addBundle = (item: string, name: string): Promise<Bundle> =>
  service.value.post<Bundle>(`${itemAddress(item)}/bundles`, { json: { name } })

/** Replaces the content of a file, which keeps its address, if it is still the one that was seen. */
export const replaceFile = (
  { uuid, checkSum }: Bitstream,
  file: File,
  signal: AbortSignal,
): Promise<unknown> =>
  service.value.put(`${core}/bitstreams/${encodeURIComponent(uuid)}/content`, {
    body: () => {
      const form = new FormData()
      form.append('file', file, file.name)
      return form
    },
    headers: { 'if-match': `"${checkSum.value}"` },
    signal,
  })

export const deleteFile = (uuid: string): Promise<unknown> =>
  service.value.delete(`${core}/bitstreams/${encodeURIComponent(uuid)}`)

const policies = '/api/authz/resourcepolicies'

export const loadPolicies = async (uuid: string, signal: AbortSignal): Promise<readonly Policy[]> => {
  const list = service.value.list<Policy>(`${policies}/search/resource`, { query: { uuid } })
  return (await list.page(0, 100, signal)).items
}

export const addPolicy = (
  resource: string,
  reader: { readonly group: string } | { readonly eperson: string },
  policy: Pick<Policy, 'action' | 'startDate' | 'endDate'>,
): Promise<unknown> => service.value.post(policies, { query: { resource, ...reader }, json: policy })

export const deletePolicy = (id: string): Promise<unknown> =>
  service.value.delete(`${policies}/${encodeURIComponent(id)}`)
