import type { Contract, Contracts } from '../http/contract.ts'
import {
  always,
  answer,
  closed,
  json,
  links,
  listOf,
  nothing,
  orNull,
  pageOf,
  paging,
  parameter,
  Type,
  text,
  uuid,
} from '../http/schema.ts'

export const tag = 'For DSpace’s user interface'
const none = Type.Array(Type.Never(), { maxItems: 0 })

/** `/workflow/claimedtasks/search/findByUser` → `listNoWorkflowClaimedtasksSearchFindByUser` */
const nameOf = (start: string, path: string) =>
  start +
  path
    .split('/')
    .filter(part => !part.startsWith(':'))
    .map(part => part.charAt(0).toUpperCase() + part.slice(1))
    .join('')

export const contracts = {
  listNothing: (path: string, key: string): Contract => ({
    operationId: nameOf('listNo', path),
    summary: `An empty list: ${key}`,
    ...listOf(pageOf(key, Type.Never()), {}, 'An empty page.'),
  }),
  refuseAbsent: (method: string, path: string, what: string): Contract => ({
    operationId: nameOf(`refuse${method.charAt(0)}${method.slice(1).toLowerCase()}`, path),
    summary: `Carrel has no ${what}`,
    answers: {},
    problems: ['not-found'],
  }),
  showSecuritySetting: {
    summary: 'Levels of fields: none',
    answers: {
      200: answer(
        'Nothing to choose.',
        json(
          closed({
            id: text,
            metadataSecurityDefault: none,
            metadataCustomSecurity: closed({}),
            type: always('securitysetting'),
            _links: links('self'),
          }),
        ),
      ),
    },
  },
  showBulkAccessConditions: {
    summary: 'No conditions for changing access in bulk',
    answers: {
      200: answer(
        'No conditions.',
        json(
          closed({
            id: always('default'),
            itemAccessConditionOptions: none,
            bitstreamAccessConditionOptions: none,
            type: always('bulkaccessconditionoption'),
            _links: links('self'),
          }),
        ),
      ),
    },
  },
  showDiscover: {
    summary: 'Links of the search',
    answers: {
      200: answer(
        'The links.',
        json(closed({ type: always('discover'), _links: links('browses', 'facets', 'search', 'self') })),
      ),
    },
  },
  listFacets: {
    summary: 'Facets of the search: none',
    answers: {
      200: answer(
        'None.',
        json(
          closed({ type: always('discover'), _embedded: closed({ facets: none }), _links: links('self') }),
        ),
      ),
    },
  },
  listBrowsesOfFields: {
    summary: 'Lists to browse: none',
    answers: { 204: nothing('Always.') },
  },
  showSearch: {
    summary: 'Configuration of the search',
    answers: {
      200: answer(
        'Nothing to filter by.',
        json(
          closed({
            type: always('discover'),
            filters: none,
            sortOptions: Type.Array(closed({ name: text, actualName: text, sortOrder: text })),
            _links: links('objects', 'self'),
          }),
        ),
      ),
    },
  },
  searchObjects: {
    summary: 'A search that finds nothing',
    query: { query: parameter(text), scope: parameter(text), configuration: parameter(text), ...paging },
    answers: {
      200: answer(
        'Nothing.',
        json(
          closed({
            id: Type.Null(),
            query: orNull(text),
            scope: orNull(text),
            configuration: text,
            appliedFilters: Type.Null(),
            sort: Type.Null(),
            type: always('discover'),
            _links: links('self'),
            _embedded: closed({ searchResult: pageOf('objects', Type.Never()), facets: none }),
          }),
        ),
      ),
    },
  },
  showNotifyRequests: {
    summary: 'Notifications about an item: none',
    answers: {
      200: answer(
        'None.',
        json(
          closed({
            itemuuid: uuid,
            notifyStatus: none,
            type: always('notifyrequests'),
            _links: links('self'),
          }),
        ),
      ),
    },
    problems: ['not-found'],
  },
  showStatistics: {
    summary: 'Links of statistics',
    answers: {
      200: answer(
        'The links.',
        json(
          closed({
            type: always('statistics'),
            _links: links('searchevents', 'usagereports', 'viewevents', 'self'),
          }),
        ),
      ),
    },
  },
  countView: (path: string): Contract => ({
    operationId: nameOf('count', path),
    summary: 'Views and searches are not counted',
    answers: { 201: nothing('Always.') },
  }),
} as const satisfies Contracts
