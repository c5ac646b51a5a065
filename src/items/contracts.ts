import type { Contracts } from '../http/contract.ts'
import {
  AccessStatus,
  Bitstream,
  BitstreamFormat,
  BitstreamPage,
  Bundle,
  BundlePage,
  Eperson,
  Group,
  Identifiers,
  Item,
  ItemPage,
  Site,
} from '../http/resources/schemas.ts'
import { answer, json, listOf, nothing, orNull, pageOf, parameter, Type, text, uuid } from '../http/schema.ts'

export const tag = 'Items and files'
/** Problems of an object that the caller may not read, or that doesn't exist. */
const closedTo = ['authentication-required', 'access-denied', 'not-found'] as const
const none = nothing('There is none, or the caller may not read it.')
const file = answer('The description of a file.', json(Bitstream))

export const contracts = {
  listItems: {
    summary: 'The items that the caller may read',
    ...listOf(ItemPage, {}, 'A page of at most 100.'),
  },
  showItem: {
    summary: 'An item',
    answers: { 200: answer('The item.', json(Item), { ETag: text }) },
    problems: closedTo,
  },
  listBundles: {
    summary: 'The bundles of an item',
    ...listOf(BundlePage),
    problems: closedTo,
  },
  showThumbnailOfItem: {
    summary: 'The thumbnail of the first file of an item',
    answers: { 200: file, 204: none },
    problems: closedTo,
  },
  showAccessOfItem: {
    summary: 'Access of anonymous users to the first file of an item',
    answers: { 200: answer('The state.', json(AccessStatus)) },
    problems: closedTo,
  },
  listIdentifiers: {
    summary: 'The identifiers of an item',
    answers: { 200: answer('They are handles to clients.', json(Identifiers)) },
    problems: closedTo,
  },
  listNone: (name: string) => ({
    operationId: `listNo${capital(name)}`,
    summary: `The ${name} of an item: none`,
    ...listOf(pageOf(name, Type.Never()), {}, 'An empty page.'),
    problems: closedTo,
  }),
  showNone: (name: string) => ({
    operationId: `showNo${capital(name)}`,
    summary: `The ${name} of an item: none`,
    answers: { 204: nothing('Always.') },
    problems: closedTo,
  }),
  listBitstreams: {
    summary: 'The files that the caller may read',
    ...listOf(BitstreamPage, {}, 'A page of at most 100.'),
  },
  showBitstream: {
    summary: 'The description of a file',
    answers: { 200: file },
    problems: closedTo,
  },
  showBundleOfBitstream: {
    summary: 'The bundle that a file is in',
    answers: { 200: answer('The bundle.', json(Bundle)) },
    problems: closedTo,
  },
  showFormatOfBitstream: {
    summary: 'The format of a file',
    answers: { 200: answer('The format.', json(BitstreamFormat)) },
    problems: closedTo,
  },
  showThumbnail: {
    summary: 'The thumbnail of a file',
    answers: { 200: file, 204: none },
    problems: closedTo,
  },
  showAccessOfBitstream: {
    summary: 'Access of anonymous users to a file',
    answers: { 200: answer('The state.', json(AccessStatus)) },
    problems: closedTo,
  },
  showBundle: {
    summary: 'A bundle',
    answers: { 200: answer('The bundle.', json(Bundle)) },
    problems: closedTo,
  },
  listBitstreamsOfBundle: {
    summary: 'The files of a bundle that the caller may read',
    ...listOf(BitstreamPage),
    problems: closedTo,
  },
  showItemOfBundle: {
    summary: 'The item that a bundle belongs to',
    answers: { 200: answer('The item.', json(Item)) },
    problems: closedTo,
  },
  showPrimaryBitstream: {
    summary: 'The file that stands for a bundle',
    answers: { 200: file, 204: none },
    problems: closedTo,
  },
  listFormats: {
    summary: 'The formats with a name',
    ...listOf(pageOf('bitstreamformats', BitstreamFormat, 'BitstreamFormatPage')),
  },
  showFormat: {
    summary: 'A format',
    path: { id: Type.String({ description: 'A media type with ~ for the slash, such as application~pdf.' }) },
    answers: { 200: answer('The format.', json(BitstreamFormat)) },
    problems: ['not-found'],
  },
  findByIdentifier: {
    summary: 'The item with an identifier',
    query: { id: parameter(text, 'With or without hdl: before it.', { required: true }) },
    answers: { 200: answer('The item.', json(Item)) },
    problems: [...closedTo, 'bad-parameter'],
  },
  findByUuid: {
    summary: 'The item or the file with a UUID, and for administrators the eperson or the group',
    query: { uuid: parameter(uuid, undefined, { required: true }) },
    answers: { 200: answer('What it is.', json(Type.Union([Item, Bitstream, Eperson, Group]))) },
    problems: [...closedTo, 'bad-parameter'],
  },
  listSites: {
    summary: 'The service itself, in a list',
    tag: 'Authorizations',
    ...listOf(pageOf('sites', Site, 'SitePage')),
  },
  showSite: {
    summary: 'The service itself',
    tag: 'Authorizations',
    answers: { 200: answer('The site.', json(Site), { ETag: text }) },
    problems: ['not-found'],
  },
  listLinks: {
    summary: 'Links for machines: none',
    tag: 'For DSpace’s user interface',
    answers: { 200: answer('An empty array.', json(Type.Array(orNull(Type.Never()), { maxItems: 0 }))) },
    problems: ['not-found'],
  },
} as const satisfies Contracts

const capital = (name: string) => name.charAt(0).toUpperCase() + name.slice(1)
