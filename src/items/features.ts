import type { Item } from '../model/items.ts'
import { admits, admitsWriter, today, type Viewer } from '../model/readers.ts'
import type { Repository } from './statements/repository.ts'

interface Who {
  readonly administrator: boolean
  readonly viewer: Viewer
}
interface Asked {
  readonly type: string
  readonly uuid: string
}
interface Parts {
  readonly repository: Repository
}
type May = (who: Who, resource: Asked, parts: Parts) => Promise<boolean>
interface ItemFeature {
  readonly id: string
  readonly description: string
  readonly resourcetypes: readonly ('item' | 'bundle' | 'bitstream')[]
  readonly may: May
}

/** Finds the item that a client asks about, or that a bundle or a file is in. */
async function itemOf({ type, uuid }: Asked, { repository }: Parts): Promise<Item | undefined> {
  if (type === 'item') return repository.item(uuid)
  const below = type === 'bundle' ? await repository.bundle(uuid) : await repository.bitstream(uuid)
  return below && repository.item(below.item)
}

/** Anonymous users can't write, whatever groups their address is in. */
const mayWriteItem = ({ viewer }: Who, item: Item): boolean =>
  (viewer.kind === 'administrator' || viewer.eperson !== null) && admitsWriter(item.readers, viewer, today())

/** Grants a feature to those who may change the item. @param also a further condition */
const byWriters =
  (also: (item: Item) => boolean = () => true): May =>
  async (who, resource, parts) => {
    const item = await itemOf(resource, parts)
    return item !== undefined && mayWriteItem(who, item) && also(item)
  }

const byAdministrators: May = async (who, resource, parts) =>
  who.administrator && (await itemOf(resource, parts)) !== undefined

/** Rights to items, bundles and files, each granted exactly where the routes in `src/items/write` allow it. */
export const itemFeatures: readonly ItemFeature[] = [
  {
    id: 'canDownload',
    description: 'May read the content of this file.',
    resourcetypes: ['bitstream'],
    may: async ({ viewer }, { uuid }, { repository }) => {
      const bitstream = await repository.bitstream(uuid)
      return bitstream !== undefined && admits(bitstream.readers, viewer, today())
    },
  },
  {
    id: 'canEditItem',
    description: 'May change this item.',
    // If the site had this feature, DSpace's interface would offer a search for items to change, which Carrel
    // doesn't have.
    resourcetypes: ['item'],
    may: byWriters(),
  },
  {
    id: 'canEditMetadata',
    description: 'May change the metadata of this item or file.',
    resourcetypes: ['item', 'bitstream'],
    may: byWriters(),
  },
  {
    id: 'withdrawItem',
    description: 'May withdraw this item, which is not withdrawn.',
    resourcetypes: ['item'],
    may: byWriters(item => !item.withdrawn),
  },
  {
    id: 'reinstateItem',
    description: 'May reinstate this item, which is withdrawn.',
    resourcetypes: ['item'],
    may: byWriters(item => item.withdrawn),
  },
  {
    id: 'canMakePrivate',
    description: 'May take this item out of lists, and back into them.',
    resourcetypes: ['item'],
    may: byWriters(),
  },
  {
    id: 'canManageBitstreamBundles',
    description: 'May change the bundles and files of this item.',
    resourcetypes: ['item', 'bundle'],
    may: byWriters(),
  },
  {
    id: 'canCreateBitstream',
    description: 'May send files into this bundle.',
    resourcetypes: ['bundle'],
    may: byWriters(),
  },
  {
    id: 'canDeleteBitstream',
    description: 'May delete this file.',
    resourcetypes: ['bitstream'],
    may: byWriters(),
  },
  {
    id: 'canReplaceBitstreamAdmin',
    description: 'May replace the content of this file.',
    resourcetypes: ['bitstream'],
    may: byWriters(),
  },
  {
    id: 'canDelete',
    description: 'May delete this item, bundle or file.',
    resourcetypes: ['item', 'bundle', 'bitstream'],
    may: (who, resource, parts) =>
      resource.type === 'item' ? byAdministrators(who, resource, parts) : byWriters()(who, resource, parts),
  },
  {
    id: 'canManagePolicies',
    description: 'May see and change the policies of this item or file.',
    resourcetypes: ['item', 'bitstream'],
    may: byAdministrators,
  },
]
