/**
 * A list that DSpace's interface looks for in the root and Carrel doesn't have: submissions and their
 * workflow, versions, relations, vocabularies, notifications, ORCID, statistics. A page that misses a link
 * shows a spinner forever; a page that finds an empty list says that there is nothing.
 */
interface EmptyList {
  readonly path: string
  /** Names of searches, below `search/`. */
  readonly searches?: readonly string[]
}

/** Lists by the name of their link, which is also the key in `_embedded`. */
export const emptyLists: Readonly<Record<string, EmptyList>> = {
  browses: { path: '/discover/browses' },
  bulkaccessconditionoptions: { path: '/config/bulkaccessconditionoptions' },
  claimedtasks: { path: '/workflow/claimedtasks', searches: ['findByUser'] },
  // Collections where a user may put an item, or that they administer: collection- and
  // community-data.service.ts.
  collections: {
    path: '/core/collections',
    searches: [
      'findAdminAuthorized',
      'findEditAuthorized',
      'findSubmitAuthorized',
      'findSubmitAuthorizedByCommunity',
      'findSubmitAuthorizedByCommunityAndEntityType',
      'findSubmitAuthorizedByEntityType',
    ],
  },
  communities: {
    path: '/core/communities',
    searches: ['top', 'findAdminAuthorized', 'findAddAuthorized', 'findEditAuthorized'],
  },
  // The page of an item looks for these: edititem-data, correctiontype-data, quality-assurance-source-data
  // and notify-services-status-data.service.ts.
  correctiontypes: { path: '/config/correctiontypes', searches: ['findByItem', 'findByTopic'] },
  duplicates: { path: '/submission/duplicates', searches: ['findByItem'] },
  edititems: { path: '/core/edititems' },
  // The pages that begin an import from elsewhere look for these (entity-type-data and
  // external-source-data.service.ts).
  entitytypes: {
    path: '/core/entitytypes',
    searches: ['findAllByAuthorizedCollection', 'findAllByAuthorizedExternalSource'],
  },
  externalsources: { path: '/integration/externalsources', searches: ['findByEntityType'] },
  itemfilters: { path: '/config/itemfilters' },
  // The page that a mail links to, for requests for a copy of a file (item-request-data.service.ts).
  itemrequests: { path: '/tools/itemrequests' },
  ldnservices: { path: '/ldn/ldnservices' },
  messages: { path: '/ldn/messages' },
  notifyrequests: { path: '/ldn/notifyrequests' },
  orcidhistories: { path: '/eperson/orcidhistories' },
  orcidqueues: { path: '/eperson/orcidqueues', searches: ['findByProfileItem'] },
  pooltasks: { path: '/workflow/pooltasks', searches: ['findByUser'] },
  profiles: { path: '/eperson/profiles' },
  properties: { path: '/config/properties' },
  qualityassuranceevents: { path: '/integration/qualityassuranceevents', searches: ['findByTopic'] },
  qualityassurancesources: { path: '/integration/qualityassurancesources', searches: ['byTarget'] },
  qualityassurancetopics: {
    path: '/integration/qualityassurancetopics',
    searches: ['byTarget', 'bySource'],
  },
  relationships: { path: '/core/relationships', searches: ['byLabel'] },
  relationshiptypes: { path: '/core/relationshiptypes' },
  securitysettings: { path: '/core/securitysettings' },
  submissionaccessoptions: { path: '/config/submissionaccessoptions' },
  submissioncclicenses: { path: '/config/submissioncclicenses' },
  submissioncoarnotifyconfigs: { path: '/config/submissioncoarnotifyconfigs' },
  submissiondefinitions: { path: '/config/submissiondefinitions' },
  submissionforms: { path: '/config/submissionforms' },
  submissionuploads: { path: '/config/submissionuploads' },
  // The page of subscriptions searches these (subscriptions-data.service.ts).
  subscriptions: { path: '/core/subscriptions', searches: ['findByEPerson', 'findByEPersonAndDso'] },
  suggestions: { path: '/integration/suggestions' },
  suggestionsources: { path: '/integration/suggestionsources' },
  suggestiontargets: { path: '/integration/suggestiontargets' },
  supervisionorders: { path: '/core/supervisionorders', searches: ['group', 'byItem'] },
  usagereports: { path: '/statistics/usagereports', searches: ['object'] },
  versionhistories: { path: '/versioning/versionhistories' },
  versions: { path: '/versioning/versions' },
  vocabularies: { path: '/submission/vocabularies', searches: ['byMetadataAndCollection'] },
  vocabularyEntryDetails: { path: '/submission/vocabularyEntryDetails' },
  workflowactions: { path: '/config/workflowactions' },
  workflowitems: { path: '/workflow/workflowitems' },
  workspaceitems: { path: '/submission/workspaceitems' },
}
