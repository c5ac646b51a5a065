/** The words that each language of the console has for a term of the API. */
interface Words {
  readonly en: string
  readonly de: string
}
export type WordsByTerm = Readonly<Record<string, Words>>
type Terms = Readonly<Record<string, WordsByTerm>>

/**
 * Terms of the API that pages for everyone show, by kind. People who use the console have never heard of an
 * eperson or a bitstream; programs have, and keep these terms.
 */
export const everybody = {
  /** Entities that every repository has. */
  entity: {
    epersons: { en: 'People', de: 'Personen' },
    groups: { en: 'Groups', de: 'Gruppen' },
    'audit-events': { en: 'Events', de: 'Ereignisse' },
    items: { en: 'Items', de: 'Objekte' },
    bitstreams: { en: 'Files', de: 'Dateien' },
  },
  /** Bundles of an item, which hold its files. */
  bundle: {
    ORIGINAL: { en: 'for readers', de: 'für Leser' },
    THUMBNAIL: { en: 'thumbnails', de: 'Vorschaubilder' },
    BRANDED_PREVIEW: { en: 'previews', de: 'Vorschauen' },
    TEXT: { en: 'extracted text', de: 'ausgelesener Text' },
    LICENSE: { en: 'licence', de: 'Lizenz' },
    'CC-LICENSE': { en: 'Creative Commons licence', de: 'Creative-Commons-Lizenz' },
    METADATA: { en: 'metadata', de: 'Metadaten' },
    SWORD: { en: 'as deposited', de: 'wie eingereicht' },
  },
  /** Fields of the metadata of items. Others are shown by their names. */
  metadata: {
    'dc.title': { en: 'Title', de: 'Titel' },
    'dc.title.alternative': { en: 'Other title', de: 'Weiterer Titel' },
    'dc.contributor': { en: 'Contributor', de: 'Beteiligt' },
    'dc.contributor.author': { en: 'Author', de: 'Autor' },
    'dc.contributor.editor': { en: 'Editor', de: 'Herausgeber' },
    'dc.contributor.advisor': { en: 'Advisor', de: 'Betreuung' },
    'dc.contributor.illustrator': { en: 'Illustrator', de: 'Illustration' },
    'dc.contributor.other': { en: 'Other contributor', de: 'Weitere Beteiligte' },
    'dc.creator': { en: 'Creator', de: 'Urheber' },
    'dc.date': { en: 'Date', de: 'Datum' },
    'dc.date.issued': { en: 'Published', de: 'Veröffentlicht' },
    'dc.date.created': { en: 'Made', de: 'Entstanden' },
    'dc.date.accessioned': { en: 'Received', de: 'Eingegangen' },
    'dc.date.available': { en: 'Available since', de: 'Verfügbar seit' },
    'dc.date.submitted': { en: 'Submitted', de: 'Eingereicht' },
    'dc.date.copyright': { en: 'Copyright date', de: 'Jahr des Urheberrechts' },
    'dc.description': { en: 'Description', de: 'Beschreibung' },
    'dc.description.abstract': { en: 'Abstract', de: 'Zusammenfassung' },
    'dc.description.provenance': { en: 'Provenance', de: 'Herkunft' },
    'dc.description.sponsorship': { en: 'Sponsors', de: 'Förderung' },
    'dc.description.tableofcontents': { en: 'Contents', de: 'Inhalt' },
    'dc.description.version': { en: 'Version', de: 'Fassung' },
    'dc.format': { en: 'Format', de: 'Format' },
    'dc.format.extent': { en: 'Extent', de: 'Umfang' },
    'dc.format.medium': { en: 'Medium', de: 'Träger' },
    'dc.format.mimetype': { en: 'File type', de: 'Dateityp' },
    'dc.identifier': { en: 'Identifier', de: 'Kennung' },
    'dc.identifier.citation': { en: 'Citation', de: 'Zitierweise' },
    'dc.identifier.doi': { en: 'DOI', de: 'DOI' },
    'dc.identifier.isbn': { en: 'ISBN', de: 'ISBN' },
    'dc.identifier.issn': { en: 'ISSN', de: 'ISSN' },
    'dc.identifier.other': { en: 'Other identifier', de: 'Weitere Kennung' },
    'dc.identifier.uri': { en: 'Address', de: 'Adresse' },
    'dc.language': { en: 'Language', de: 'Sprache' },
    'dc.language.iso': { en: 'Language', de: 'Sprache' },
    'dc.publisher': { en: 'Publisher', de: 'Verlag' },
    'dc.relation': { en: 'Related to', de: 'Verwandt mit' },
    'dc.relation.ispartof': { en: 'Part of', de: 'Teil von' },
    'dc.relation.ispartofseries': { en: 'Series', de: 'Reihe' },
    'dc.relation.uri': { en: 'Related address', de: 'Verwandte Adresse' },
    'dc.rights': { en: 'Rights', de: 'Rechte' },
    'dc.rights.holder': { en: 'Rights holder', de: 'Rechteinhaber' },
    'dc.rights.license': { en: 'Licence', de: 'Lizenz' },
    'dc.rights.uri': { en: 'Licence', de: 'Lizenz' },
    'dc.source': { en: 'Source', de: 'Quelle' },
    'dc.source.uri': { en: 'Address of the source', de: 'Adresse der Quelle' },
    'dc.coverage': { en: 'Coverage', de: 'Abdeckung' },
    'dc.coverage.spatial': { en: 'Place', de: 'Ort' },
    'dc.coverage.temporal': { en: 'Period', de: 'Zeitraum' },
    'dc.subject': { en: 'Subject', de: 'Thema' },
    'dc.subject.ddc': { en: 'Dewey class', de: 'Dewey-Klasse' },
    'dc.subject.lcsh': { en: 'Subject heading (LCSH)', de: 'Schlagwort (LCSH)' },
    'dc.subject.mesh': { en: 'Subject heading (MeSH)', de: 'Schlagwort (MeSH)' },
    'dc.type': { en: 'Kind', de: 'Art' },
  },
  /** Ways to log in. A provider has the name that its operator gave it. */
  method: {
    password: { en: 'password', de: 'Passwort' },
    'two-factor': { en: 'password and second factor', de: 'Passwort und zweiter Faktor' },
    passkey: { en: 'passkey', de: 'Passkey' },
    ldap: { en: 'password', de: 'Passwort' },
    'command-line': { en: 'command line', de: 'Kommandozeile' },
    'access-token': { en: 'access token', de: 'Zugriffstoken' },
  },
  /** Outcomes of an event. */
  outcome: {
    success: { en: 'succeeded', de: 'gelungen' },
    failure: { en: 'failed', de: 'gescheitert' },
  },
  /** Types of a field. */
  type: {
    text: { en: 'text', de: 'Text' },
    integer: { en: 'whole number', de: 'ganze Zahl' },
    number: { en: 'number', de: 'Zahl' },
    boolean: { en: 'yes or no', de: 'ja oder nein' },
    'date-time': { en: 'date and time', de: 'Datum und Zeit' },
    json: { en: 'JSON', de: 'JSON' },
  },
  /** Events of the audit trail. */
  event: {
    login: { en: 'Log in', de: 'Anmelden' },
    refresh: { en: 'Renew a session', de: 'Sitzung verlängern' },
    logout: { en: 'Log out', de: 'Abmelden' },
    'short-lived-token': { en: 'Issue a short-lived token', de: 'Kurzlebiges Token ausstellen' },
    'session.end': { en: 'End a session', de: 'Sitzung beenden' },
    'factor.ask': { en: 'Ask for the second factor', de: 'Zweiten Faktor verlangen' },
    'factor.add': { en: 'Add a second factor', de: 'Zweiten Faktor hinzufügen' },
    'factor.change': { en: 'Rename a second factor', de: 'Zweiten Faktor umbenennen' },
    'factor.remove': { en: 'Remove a second factor', de: 'Zweiten Faktor entfernen' },
    'factor.reset': { en: 'Reset the second factor', de: 'Zweiten Faktor zurücksetzen' },
    'factor.codes': { en: 'Renew recovery codes', de: 'Wiederherstellungscodes erneuern' },
    'factor.recover': { en: 'Use a recovery code', de: 'Wiederherstellungscode benutzen' },
    'token.add': { en: 'Make an access token', de: 'Zugriffstoken erzeugen' },
    'token.revoke': { en: 'Revoke an access token', de: 'Zugriffstoken widerrufen' },
    'on-behalf-of': { en: 'Act on behalf of a person', de: 'In Vertretung handeln' },
    registration: { en: 'Register by email', de: 'Per E-Mail registrieren' },
    'eperson.add': { en: 'Add a person', de: 'Person hinzufügen' },
    'eperson.change': { en: 'Change a person', de: 'Person ändern' },
    'eperson.enable': { en: 'Enable an account', de: 'Konto freigeben' },
    'eperson.disable': { en: 'Disable an account', de: 'Konto sperren' },
    'eperson.delete': { en: 'Delete a person', de: 'Person löschen' },
    'eperson.password': { en: 'Set a password', de: 'Passwort setzen' },
    'eperson.link': { en: 'Link with an account elsewhere', de: 'Mit einem Konto anderswo verbinden' },
    'eperson.unlink': {
      en: 'Remove a link with an account elsewhere',
      de: 'Verbindung mit einem Konto anderswo entfernen',
    },
    'agreement.reset': { en: 'Ask for the agreement again', de: 'Zustimmung erneut erbitten' },
    'group.add': { en: 'Add a group', de: 'Gruppe hinzufügen' },
    'group.change': { en: 'Change a group', de: 'Gruppe ändern' },
    'group.delete': { en: 'Delete a group', de: 'Gruppe löschen' },
    'group.join': { en: 'Add a person to a group', de: 'Person in eine Gruppe aufnehmen' },
    'group.leave': { en: 'Remove a person from a group', de: 'Person aus einer Gruppe entfernen' },
    'group.include': { en: 'Put a group in a group', de: 'Gruppe in eine Gruppe aufnehmen' },
    'group.exclude': { en: 'Take a group out of a group', de: 'Gruppe aus einer Gruppe entfernen' },
    'entity.import': { en: 'Import all records', de: 'Alle Datensätze importieren' },
    'entity.update': { en: 'Import changed records', de: 'Geänderte Datensätze importieren' },
    'entity.restore': { en: 'Restore a version', de: 'Fassung wiederherstellen' },
    'entity.drop': { en: 'Delete a collection of records', de: 'Datensammlung löschen' },
    'entity.expose': { en: 'Show a table of a database', de: 'Tabelle einer Datenbank zeigen' },
    'entity.access': { en: 'Change who may read records', de: 'Ändern, wer Datensätze lesen darf' },
    'entity.relate': { en: 'Add a relation', de: 'Beziehung hinzufügen' },
    'entity.unrelate': { en: 'Remove a relation', de: 'Beziehung entfernen' },
    'entity.default': { en: 'Change the usual condition', de: 'Übliche Bedingung ändern' },
    'entity.writers': { en: 'Change who may write records', de: 'Ändern, wer Datensätze schreiben darf' },
    'record.put': { en: 'Write a record', de: 'Datensatz schreiben' },
    'record.change': { en: 'Change a record', de: 'Datensatz ändern' },
    'record.delete': { en: 'Delete a record', de: 'Datensatz löschen' },
    'entity.change': { en: 'Change a collection of records', de: 'Datensammlung ändern' },
    'item.add': { en: 'Add an item', de: 'Objekt hinzufügen' },
    'item.change': { en: 'Change an item', de: 'Objekt ändern' },
    'item.access': { en: 'Change who may read an item', de: 'Ändern, wer ein Objekt lesen darf' },
    'item.delete': { en: 'Delete an item', de: 'Objekt löschen' },
    'bundle.add': { en: 'Add a set of files', de: 'Gruppe von Dateien hinzufügen' },
    'bundle.change': { en: 'Change a set of files', de: 'Gruppe von Dateien ändern' },
    'bundle.delete': { en: 'Delete a set of files', de: 'Gruppe von Dateien löschen' },
    'bitstream.add': { en: 'Add a file', de: 'Datei hinzufügen' },
    'bitstream.change': { en: 'Change a file', de: 'Datei ändern' },
    'bitstream.delete': { en: 'Delete a file', de: 'Datei löschen' },
    download: { en: 'Download a file', de: 'Datei herunterladen' },
    'process.start': { en: 'Start a process', de: 'Prozess starten' },
    'process.cancel': { en: 'Cancel a process', de: 'Prozess abbrechen' },
    'process.resume': { en: 'Resume a process', de: 'Prozess fortsetzen' },
    'process.delete': { en: 'Remove a process from the list', de: 'Prozess aus der Liste entfernen' },
    'alert.change': { en: 'Change the alert', de: 'Hinweis ändern' },
    'site.change': { en: 'Change the site', de: 'Angaben zur Site ändern' },
    'metadata-schema.add': { en: 'Add a schema of metadata', de: 'Metadatenschema hinzufügen' },
    'metadata-schema.change': { en: 'Change a schema of metadata', de: 'Metadatenschema ändern' },
    'metadata-schema.delete': { en: 'Delete a schema of metadata', de: 'Metadatenschema löschen' },
    'metadata-field.add': { en: 'Add a field of metadata', de: 'Metadatenfeld hinzufügen' },
    'metadata-field.change': { en: 'Change a field of metadata', de: 'Metadatenfeld ändern' },
    'metadata-field.delete': { en: 'Delete a field of metadata', de: 'Metadatenfeld löschen' },
    'secret.rotate': { en: 'Rotate the secret', de: 'Geheimnis wechseln' },
    'store.backup': { en: 'Back up the store', de: 'Bestand sichern' },
    'store.copy': { en: 'Copy the store', de: 'Bestand kopieren' },
    'store.restore': { en: 'Restore the store', de: 'Bestand wiederherstellen' },
    'events.prune': { en: 'Prune the audit trail', de: 'Protokoll kürzen' },
  },
  /** Problems, by code. */
  problem: {
    'bad-request': { en: 'The request is malformed', de: 'Die Anfrage ist fehlerhaft' },
    'bad-parameter': {
      en: 'Something in the address or the form is wrong',
      de: 'Etwas in der Adresse oder im Formular ist falsch',
    },
    'snapshot-expired': {
      en: 'What this page showed is no longer kept',
      de: 'Was diese Seite zeigte, wird nicht mehr aufbewahrt',
    },
    'bad-on-behalf-of': {
      en: 'There is nobody to act for',
      de: 'Die Person, für die gehandelt wird, gibt es nicht',
    },
    'reason-required': {
      en: 'Acting on behalf of someone needs a reason',
      de: 'In Vertretung zu handeln braucht einen Grund',
    },
    'redirect-not-allowed': {
      en: 'The address to return to is not allowed',
      de: 'Die Adresse für die Rückkehr ist nicht erlaubt',
    },
    'sign-on-not-begun': {
      en: 'This login was not started here',
      de: 'Diese Anmeldung hat nicht hier begonnen',
    },
    'logout-not-understood': { en: 'The logout message is not valid', de: 'Die Abmeldung ist ungültig' },
    'sign-on-refused': { en: 'Single sign-on failed', de: 'Die Einmalanmeldung ist gescheitert' },
    'account-refused': { en: 'There is no account for you here', de: 'Hier gibt es kein Konto für Sie' },
    'provider-unavailable': {
      en: 'The provider of single sign-on does not answer',
      de: 'Der Anbieter der Einmalanmeldung antwortet nicht',
    },
    'login-failed': { en: 'The login failed', de: 'Die Anmeldung ist gescheitert' },
    'second-factor-required': {
      en: 'The second factor is missing, or wrong',
      de: 'Der zweite Faktor fehlt oder ist falsch',
    },
    'second-factor-enrolment-required': {
      en: 'Your account needs a second factor',
      de: 'Ihr Konto braucht einen zweiten Faktor',
    },
    'logins-closed': {
      en: 'Only administrators can log in at the moment',
      de: 'Zurzeit können sich nur Administratoren anmelden',
    },
    'authentication-required': { en: 'You have to log in', de: 'Sie müssen sich anmelden' },
    'csrf-cookie-missing': {
      en: 'The browser sent no proof that the request is yours',
      de: 'Der Browser hat keinen Nachweis gesandt, dass die Anfrage von Ihnen kommt',
    },
    'csrf-header-missing': {
      en: 'The browser sent no proof that the request is yours',
      de: 'Der Browser hat keinen Nachweis gesandt, dass die Anfrage von Ihnen kommt',
    },
    'csrf-mismatch': {
      en: 'The proof that the request is yours is wrong',
      de: 'Der Nachweis, dass die Anfrage von Ihnen kommt, ist falsch',
    },
    'csrf-not-ours': {
      en: 'The proof that the request is yours is not from here',
      de: 'Der Nachweis, dass die Anfrage von Ihnen kommt, ist nicht von hier',
    },
    'origin-not-allowed': {
      en: 'Pages of this address may not use the service',
      de: 'Seiten dieser Adresse dürfen den Dienst nicht benutzen',
    },
    'short-lived-token-refused': {
      en: 'A short-lived token is not enough here',
      de: 'Ein kurzlebiges Token reicht hier nicht',
    },
    'on-behalf-of-refused': {
      en: 'You may not act on behalf of this person',
      de: 'Für diese Person dürfen Sie nicht handeln',
    },
    'wrong-password': { en: 'The current password is wrong', de: 'Das bisherige Passwort ist falsch' },
    'proof-refused': {
      en: 'The proof that it is you is missing, or wrong',
      de: 'Der Nachweis, dass Sie es sind, fehlt oder ist falsch',
    },
    'second-factor-missing': {
      en: 'Log out, and in again with your second factor',
      de: 'Melden Sie sich ab und mit Ihrem zweiten Faktor wieder an',
    },
    'access-denied': { en: 'You may not do this', de: 'Das dürfen Sie nicht' },
    'not-found': { en: 'There is nothing here', de: 'Hier ist nichts' },
    'unknown-entity': {
      en: 'There is no such collection of records',
      de: 'Diese Datensammlung gibt es nicht',
    },
    'method-not-allowed': { en: 'This can’t be done here', de: 'Das geht hier nicht' },
    'not-acceptable': {
      en: 'The service can’t send it in this form',
      de: 'In dieser Form kann der Dienst es nicht senden',
    },
    'request-timeout': { en: 'The request took too long to arrive', de: 'Die Anfrage kam zu langsam an' },
    'precondition-failed': {
      en: 'Someone else has changed it meanwhile',
      de: 'Jemand anders hat es inzwischen geändert',
    },
    'body-too-large': { en: 'That is too large', de: 'Das ist zu groß' },
    'unsupported-media-type': {
      en: 'The service can’t read this kind of file',
      de: 'Diese Art von Datei kann der Dienst nicht lesen',
    },
    'range-not-satisfiable': { en: 'The file is shorter than that', de: 'So lang ist die Datei nicht' },
    'expectation-failed': {
      en: 'The service can’t do what the request expects',
      de: 'Der Dienst kann nicht, was die Anfrage erwartet',
    },
    'host-not-allowed': {
      en: 'The service doesn’t answer at this address',
      de: 'Unter dieser Adresse antwortet der Dienst nicht',
    },
    'mail-token-refused': {
      en: 'The link of the mail is not valid',
      de: 'Der Link aus der E-Mail gilt nicht',
    },
    'registration-refused': {
      en: 'Nobody can register with this address',
      de: 'Mit dieser Adresse kann sich niemand registrieren',
    },
    'patch-refused': { en: 'The change can’t be made', de: 'Die Änderung lässt sich nicht machen' },
    'change-refused': { en: 'The change is refused', de: 'Die Änderung wird abgelehnt' },
    'factor-refused': {
      en: 'The second factor can’t be taken',
      de: 'Der zweite Faktor kann nicht angenommen werden',
    },
    'access-token-refused': {
      en: 'The access token is not for this',
      de: 'Das Zugriffstoken ist nicht dafür',
    },
    'access-token-invalid': {
      en: 'No such access token can be made',
      de: 'Ein solches Zugriffstoken gibt es nicht',
    },
    'password-refused': { en: 'The new password is refused', de: 'Das neue Passwort wird abgelehnt' },
    'headers-too-large': {
      en: 'The browser sent too much with the request',
      de: 'Der Browser hat zu viel mitgesandt',
    },
    'too-many-attempts': { en: 'Too many attempts to log in', de: 'Zu viele Versuche, sich anzumelden' },
    'internal-error': { en: 'The service failed', de: 'Im Dienst ist ein Fehler aufgetreten' },
    busy: { en: 'The service is busy', de: 'Der Dienst ist ausgelastet' },
    'query-timeout': { en: 'The query took too long', de: 'Die Abfrage hat zu lange gedauert' },
    'directory-unavailable': {
      en: 'The directory of accounts does not answer',
      de: 'Das Verzeichnis der Konten antwortet nicht',
    },
    'store-unavailable': { en: 'The store does not answer', de: 'Der Speicher antwortet nicht' },
    'files-unavailable': {
      en: 'The files can’t be reached at the moment',
      de: 'Die Dateien sind zurzeit nicht erreichbar',
    },
    'files-full': { en: 'There is no room for more files', de: 'Für weitere Dateien ist kein Platz' },
    'not-writable': {
      en: 'Records of this collection can’t be written',
      de: 'Datensätze dieser Sammlung lassen sich nicht schreiben',
    },
    'record-refused': { en: 'The record is refused', de: 'Der Datensatz wird abgelehnt' },
    'record-referenced': {
      en: 'Other records refer to the record',
      de: 'Andere Datensätze verweisen auf den Datensatz',
    },
    'upload-offset': {
      en: 'The upload goes on at another place',
      de: 'Das Hochladen geht an anderer Stelle weiter',
    },
    'tus-version': {
      en: 'The browser uploads in a way that the service doesn’t know',
      de: 'Der Browser lädt auf eine Art hoch, die der Dienst nicht kennt',
    },
    'process-state': {
      en: 'The process is in another state',
      de: 'Der Prozess ist in einem anderen Zustand',
    },
    'upload-in-use': { en: 'The uploaded file is in use', de: 'Die hochgeladene Datei ist in Gebrauch' },
    'no-room': { en: 'There is no room for it', de: 'Dafür ist kein Platz' },
    'secret-set': {
      en: 'The secret is set by the configuration',
      de: 'Das Geheimnis steht in der Konfiguration',
    },
    'explanation-refused': {
      en: 'The login can’t be explained',
      de: 'Die Anmeldung lässt sich nicht erklären',
    },
    'entity-conflict': {
      en: 'The collection of records does not allow this',
      de: 'Die Datensammlung lässt das nicht zu',
    },
    'entity-refused': {
      en: 'The description of the collection of records is wrong',
      de: 'Die Beschreibung der Datensammlung ist falsch',
    },
  },
} as const satisfies Terms

/** Terms that only administrators see, loaded with the first of their pages. */
export const administration = {
  /** Beginnings of the names of events. */
  topic: {
    session: { en: 'Sessions', de: 'Sitzungen' },
    factor: { en: 'Second factors', de: 'Zweite Faktoren' },
    token: { en: 'Access tokens', de: 'Zugriffstoken' },
    eperson: { en: 'People', de: 'Personen' },
    agreement: { en: 'The agreement', de: 'Zustimmung' },
    group: { en: 'Groups', de: 'Gruppen' },
    entity: { en: 'Collections of records', de: 'Datensammlungen' },
    record: { en: 'Records', de: 'Datensätze' },
    item: { en: 'Items', de: 'Objekte' },
    bundle: { en: 'Sets of files', de: 'Gruppen von Dateien' },
    bitstream: { en: 'Files', de: 'Dateien' },
    process: { en: 'Processes', de: 'Prozesse' },
    alert: { en: 'The alert', de: 'Hinweis' },
    site: { en: 'The site', de: 'Die Site' },
    'metadata-schema': { en: 'Schemas of metadata', de: 'Metadatenschemas' },
    'metadata-field': { en: 'Fields of metadata', de: 'Metadatenfelder' },
    secret: { en: 'The secret', de: 'Geheimnis' },
    store: { en: 'The store', de: 'Bestand' },
    events: { en: 'The audit trail', de: 'Protokoll' },
  },
  /** Readers that a rule can name, besides groups and people. */
  role: {
    anonymous: { en: 'everybody', de: 'alle' },
    eperson: { en: 'everybody who is logged in', de: 'alle, die angemeldet sind' },
    admin: { en: 'administrators only', de: 'nur Administratoren' },
  },
  /** Values that the parameters of a process take. */
  hint: {
    '--uuid': {
      en: 'It is in the address of the item’s page.',
      de: 'Sie steht in der Adresse der Seite des Objekts.',
    },
    '--copy': {
      en: 'There are none in Carrel. Leave it empty.',
      de: 'In Carrel gibt es keine. Lassen Sie es leer.',
    },
    '--metadata': {
      en: 'dspace.agreements.end-user, and nothing else.',
      de: 'dspace.agreements.end-user, und nichts anderes.',
    },
    '--keep': {
      en: 'The oldest beyond this number are removed.',
      de: 'Die ältesten darüber hinaus werden entfernt.',
    },
    '--checkpoint': {
      en: 'As an earlier check told it. The trail must still contain it. May be left out.',
      de: 'Wie ihn eine frühere Prüfung genannt hat. Das Protokoll muss ihn noch enthalten. Kann fehlen.',
    },
  },
  /** States of a process. */
  state: {
    scheduled: { en: 'waits', de: 'wartet' },
    running: { en: 'runs', de: 'läuft' },
    completed: { en: 'completed', de: 'fertig' },
    'with-failures': { en: 'completed, with failures', de: 'beendet, mit Fehlern' },
    failed: { en: 'failed', de: 'gescheitert' },
    cancelled: { en: 'cancelled', de: 'abgebrochen' },
    interrupted: { en: 'interrupted', de: 'unterbrochen' },
  },
  /** States of a process in the words of DSpace’s interface. */
  status: {
    SCHEDULED: { en: 'waits', de: 'wartet' },
    RUNNING: { en: 'runs', de: 'läuft' },
    COMPLETED: { en: 'completed', de: 'fertig' },
    FAILED: { en: 'not completed', de: 'nicht fertig geworden' },
  },
  /** Kinds of process. */
  script: {
    import: { en: 'Import', de: 'Import' },
    ingest: { en: 'Ingest', de: 'Aufnahme' },
    verify: { en: 'Check of files', de: 'Prüfung der Dateien' },
    'verify-trail': { en: 'Check of the audit trail', de: 'Prüfung des Protokolls' },
    'verify-backups': { en: 'Check of backups', de: 'Prüfung der Sicherungen' },
    clean: { en: 'Clean-up of files', de: 'Aufräumen der Dateien' },
    move: { en: 'Move of files', de: 'Umzug der Dateien' },
    backup: { en: 'Backup', de: 'Sicherung' },
    'object-deletion': { en: 'Deletion of an item', de: 'Löschen eines Objekts' },
    'metadata-deletion': { en: 'Request to agree again', de: 'Bitte um erneute Zustimmung' },
  },
  /** Kinds of processes, as actions. */
  about: {
    verify: {
      en: 'Reads every file again and compares it with its SHA-256.',
      de: 'Liest jede Datei noch einmal und vergleicht sie mit ihrem SHA-256.',
    },
    'verify-trail': {
      en: 'Checks that no event was changed, removed, inserted or moved.',
      de: 'Prüft, dass kein Ereignis geändert, entfernt, eingefügt oder verschoben wurde.',
    },
    'verify-backups': {
      en: 'Reads every backup again and compares every file with its SHA-256.',
      de: 'Liest jede Sicherung noch einmal und vergleicht jede Datei mit ihrem SHA-256.',
    },
    clean: {
      en: 'Sets files aside that belong to nothing, and deletes them an hour later.',
      de: 'Legt Dateien beiseite, die zu nichts gehören, und löscht sie eine Stunde später.',
    },
    backup: {
      en: 'Backs up the whole store into the folder that the operator has chosen.',
      de: 'Sichert den ganzen Bestand in den Ordner, den der Betreiber gewählt hat.',
    },
    'object-deletion': { en: 'Deletes an item with its files.', de: 'Löscht ein Objekt mit seinen Dateien.' },
    'metadata-deletion': {
      en: 'Asks everybody to accept the end user agreement of DSpace’s interface again.',
      de: 'Bittet alle, der Nutzungsvereinbarung der Oberfläche von DSpace noch einmal zuzustimmen.',
    },
  },
  /** Units in which a process counts. */
  unit: {
    records: { en: 'records', de: 'Datensätze' },
    items: { en: 'items', de: 'Objekte' },
    files: { en: 'files', de: 'Dateien' },
  },
  /** Parameters of a process. */
  parameter: {
    mode: { en: 'Mode', de: 'Art' },
    file: { en: 'File', de: 'Datei' },
    bytes: { en: 'Bytes', de: 'Bytes' },
    key: { en: 'Key', de: 'Schlüssel' },
    read: { en: 'Read by', de: 'Lesbar für' },
    upload: { en: 'Upload', de: 'Hochgeladen als' },
    name: { en: 'Name', de: 'Name' },
    resumes: { en: 'Resumes process', de: 'Setzt Prozess fort' },
    entity: { en: 'Collection of records', de: 'Datensammlung' },
    addOnly: { en: 'Only adds', de: 'Fügt nur hinzu' },
    dryRun: { en: 'Only tries', de: 'Nur ein Versuch' },
    preview: { en: 'Only checks', de: 'Prüft nur' },
    collation: { en: 'Sorted as', de: 'Sortiert nach' },
    '--uuid': { en: 'UUID of the item', de: 'UUID des Objekts' },
    '-i': { en: 'UUID of the item', de: 'UUID des Objekts' },
    '--copy': { en: 'Relations to copy', de: 'Zu kopierende Beziehungen' },
    '-c': { en: 'Relations to copy', de: 'Zu kopierende Beziehungen' },
    folder: { en: 'Folder', de: 'Ordner' },
    kind: { en: 'Mode', de: 'Art' },
    replace: { en: 'Losses are confirmed', de: 'Verluste sind bestätigt' },
    '--metadata': { en: 'Field', de: 'Feld' },
    '-m': { en: 'Field', de: 'Feld' },
    '--keep': { en: 'Backups to keep', de: 'Zu behaltende Sicherungen' },
    '-k': { en: 'Backups to keep', de: 'Zu behaltende Sicherungen' },
    '--checkpoint': { en: 'Name of an earlier state', de: 'Name eines früheren Standes' },
  },
  /** Modes of an import. */
  mode: {
    replace: { en: 'all records', de: 'alle Datensätze' },
    update: { en: 'new and changed records', de: 'neue und geänderte Datensätze' },
    delete: { en: 'records to delete', de: 'zu löschende Datensätze' },
    fields: { en: 'changed fields', de: 'geänderte Felder' },
    collate: { en: 'another order of text', de: 'andere Reihenfolge von Text' },
  },
  /** Members of the result of a process. */
  result: {
    records: { en: 'Records', de: 'Datensätze' },
    inserted: { en: 'Inserted', de: 'Eingefügt' },
    replaced: { en: 'Replaced', de: 'Ersetzt' },
    deleted: { en: 'Deleted', de: 'Gelöscht' },
    unchanged: { en: 'Unchanged', de: 'Unverändert' },
    gone: { en: 'Gone', de: 'Verschwunden' },
    goneFields: { en: 'Fields that are gone', de: 'Verschwundene Felder' },
    added: { en: 'Added', de: 'Hinzugefügt' },
    changed: { en: 'Changed', de: 'Geändert' },
    failed: { en: 'Failed', de: 'Gescheitert' },
    faults: { en: 'Faults', de: 'Fehler' },
    events: { en: 'Events', de: 'Ereignisse' },
    checked: { en: 'Checked', de: 'Geprüft' },
    bytes: { en: 'Bytes', de: 'Bytes' },
    missing: { en: 'Missing', de: 'Fehlend' },
    damaged: { en: 'Damaged', de: 'Beschädigt' },
    backups: { en: 'Backups', de: 'Sicherungen' },
    name: { en: 'Name', de: 'Name' },
    files: { en: 'Files', de: 'Dateien' },
    copied: { en: 'Copied', de: 'Kopiert' },
    removed: { en: 'Removed', de: 'Entfernt' },
    lost: { en: 'Lost before', de: 'Schon vorher verloren' },
    setAside: { en: 'Set aside', de: 'Beiseitegelegt' },
    broughtBack: { en: 'Brought back', de: 'Zurückgeholt' },
    leftovers: { en: 'Leftovers', de: 'Überreste' },
    entity: { en: 'Collection of records', de: 'Datensammlung' },
    dryRun: { en: 'Only tried', de: 'Nur ausprobiert' },
    changes: { en: 'Changes', de: 'Änderungen' },
    additions: { en: 'Adds', de: 'Fügt hinzu' },
    first: { en: 'First event', de: 'Erstes Ereignis' },
    last: { en: 'Last event', de: 'Letztes Ereignis' },
    milliseconds: { en: 'Took', de: 'Dauer' },
    key: { en: 'Key', de: 'Schlüssel' },
    read: { en: 'Read by', de: 'Gelesen von' },
    failures: { en: 'Failures', de: 'Fehlschläge' },
    access: { en: 'Access', de: 'Zugriff' },
    checkpoint: { en: 'State to compare with later', de: 'Stand zum späteren Vergleich' },
    pruned: { en: 'Backups that were removed', de: 'Entfernte Sicherungen' },
    newest: { en: 'Newest backup', de: 'Neueste Sicherung' },
  },
  /** Sources of a collection of records. */
  source: {
    imported: { en: 'imported', de: 'importiert' },
    exposed: { en: 'table of a database', de: 'Tabelle einer Datenbank' },
    'built-in': { en: 'built in', de: 'eingebaut' },
  },
  /** Formats of fields. */
  format: {
    link: { en: 'link', de: 'Link' },
    image: { en: 'picture', de: 'Bild' },
    'e-mail': { en: 'e-mail address', de: 'E-Mail-Adresse' },
    year: { en: 'year', de: 'Jahr' },
    identifier: { en: 'number that names something', de: 'Kennzahl' },
    paragraphs: { en: 'text of several lines', de: 'mehrzeiliger Text' },
    json: { en: 'tree', de: 'Baum' },
  },
  /** Kinds of tables of a database. */
  table: {
    table: { en: 'table', de: 'Tabelle' },
    view: { en: 'view', de: 'Sicht' },
    'materialized view': { en: 'materialized view', de: 'materialisierte Sicht' },
    'foreign table': { en: 'foreign table', de: 'Fremdtabelle' },
  },
  /** Subjects of the checks of `carrel doctor`. */
  check: {
    settings: { en: 'settings', de: 'Einstellungen' },
    store: { en: 'store', de: 'Bestand' },
    https: { en: 'encryption', de: 'Verschlüsselung' },
    proxy: { en: 'proxy', de: 'Proxy' },
    browsers: { en: 'browsers', de: 'Browser' },
    files: { en: 'files', de: 'Dateien' },
    permissions: { en: 'permissions', de: 'Rechte' },
    'file system': { en: 'file system', de: 'Dateisystem' },
    space: { en: 'space', de: 'Platz' },
    'write-ahead log': { en: 'write-ahead log', de: 'Schreibprotokoll' },
    schema: { en: 'schema', de: 'Schema' },
    database: { en: 'database', de: 'Datenbank' },
    clock: { en: 'clock', de: 'Uhr' },
    secret: { en: 'secret', de: 'Geheimnis' },
    sessions: { en: 'sessions', de: 'Sitzungen' },
    administrator: { en: 'administrator', de: 'Administrator' },
    backup: { en: 'backup', de: 'Sicherung' },
    'audit trail': { en: 'audit trail', de: 'Protokoll' },
    snapshots: { en: 'snapshots', de: 'Schnappschüsse' },
    'access tokens': { en: 'access tokens', de: 'Zugriffstoken' },
    load: { en: 'load', de: 'Last' },
  },
  /** Sentences of `carrel doctor`, and what they are made of. The English ones are how they are recognized. */
  finding: {
    'less than a day ago': { en: 'less than a day ago', de: 'vor weniger als einem Tag' },
    '1 day ago': { en: '1 day ago', de: 'vor einem Tag' },
    '{0} days ago': { en: '{0} days ago', de: 'vor {0} Tagen' },
    '1 day': { en: '1 day', de: '1 Tag' },
    '{0} days': { en: '{0} days', de: '{0} Tage' },
    '1 hour': { en: '1 hour', de: '1 Stunde' },
    '{0} hours': { en: '{0} hours', de: '{0} Stunden' },
    '1 minute': { en: '1 minute', de: '1 Minute' },
    '{0} minutes': { en: '{0} minutes', de: '{0} Minuten' },
    '1 second': { en: '1 second', de: '1 Sekunde' },
    '{0} seconds': { en: '{0} seconds', de: '{0} Sekunden' },
    '1 processor': { en: '1 processor', de: 'einem Prozessor' },
    '{0} processors': { en: '{0} processors', de: '{0} Prozessoren' },
    '1 node': { en: '1 node', de: 'einen Knoten' },
    '{0} nodes': { en: '{0} nodes', de: '{0} Knoten' },
    'the server': { en: 'the server', de: 'der Server' },
    'this role': { en: 'this role', de: 'diese Rolle' },
    'this database': { en: 'this database', de: 'diese Datenbank' },
    'raise max_connections': { en: 'raise max_connections', de: 'erhöhen Sie max_connections' },
    'raise it by ALTER ROLE … CONNECTION LIMIT': {
      en: 'raise it by ALTER ROLE … CONNECTION LIMIT',
      de: 'erhöhen Sie es mit ALTER ROLE … CONNECTION LIMIT',
    },
    'raise it by ALTER DATABASE … CONNECTION LIMIT': {
      en: 'raise it by ALTER DATABASE … CONNECTION LIMIT',
      de: 'erhöhen Sie es mit ALTER DATABASE … CONNECTION LIMIT',
    },
    'data folder {0}': { en: 'data folder {0}', de: 'Datenordner {0}' },
    'folder of files {0}': { en: 'folder of files {0}', de: 'Dateiordner {0}' },
    'a file system of this machine': {
      en: 'a file system of this machine',
      de: 'einem Dateisystem dieser Maschine',
    },
    'a shared folder of VirtualBox': {
      en: 'a shared folder of VirtualBox',
      de: 'ein gemeinsamer Ordner von VirtualBox',
    },
    "the store in {0} can't be read: {1}": {
      en: "the store in {0} can't be read: {1}",
      de: 'Der Bestand in {0} lässt sich nicht lesen: {1}',
    },
    'see whether the settings name the right one, and run the command as the user of the service': {
      en: 'see whether the settings name the right one, and run the command as the user of the service',
      de: 'Sehen Sie nach, ob die Einstellungen den richtigen nennen, und führen Sie den Befehl als Benutzer des Dienstes aus.',
    },
    'a newer Carrel wrote this store, and this one refuses it': {
      en: 'a newer Carrel wrote this store, and this one refuses it',
      de: 'Ein neueres Carrel hat diesen Bestand geschrieben, und dieses lehnt ihn ab',
    },
    'use the newer Carrel': { en: 'use the newer Carrel', de: 'Benutzen Sie das neuere Carrel.' },
    'an older Carrel wrote this store; the next start or command updates it, and the older one can no longer use it then':
      {
        en: 'an older Carrel wrote this store; the next start or command updates it, and the older one can no longer use it then',
        de: 'Ein älteres Carrel hat diesen Bestand geschrieben; der nächste Start oder Befehl bringt ihn auf den neuen Stand, und das ältere kann ihn dann nicht mehr benutzen',
      },
    'make a backup first': { en: 'make a backup first', de: 'Machen Sie vorher eine Sicherung.' },
    'the store has the schema of this Carrel': {
      en: 'the store has the schema of this Carrel',
      de: 'Der Bestand hat das Schema dieses Carrel',
    },
    'CARREL_TOKEN_SECRET sets the secret; its age is unknown here': {
      en: 'CARREL_TOKEN_SECRET sets the secret; its age is unknown here',
      de: 'CARREL_TOKEN_SECRET legt das Geheimnis fest; sein Alter ist hier unbekannt',
    },
    'replace it once a year: the new one and a comma before the old one': {
      en: 'replace it once a year: the new one and a comma before the old one',
      de: 'Ersetzen Sie es einmal im Jahr: das neue und ein Komma vor dem alten.',
    },
    'the secret that signs tokens is {0} old': {
      en: 'the secret that signs tokens is {0} old',
      de: 'Das Geheimnis, das Token signiert, ist {0} alt',
    },
    '`carrel secret rotate`; nobody is logged out': {
      en: '`carrel secret rotate`; nobody is logged out',
      de: '`carrel secret rotate`; niemand wird abgemeldet.',
    },
    'CARREL_SESSION_LIFETIME is not set: a token can be refreshed without end': {
      en: 'CARREL_SESSION_LIFETIME is not set: a token can be refreshed without end',
      de: 'CARREL_SESSION_LIFETIME ist nicht gesetzt: Ein Token lässt sich unbegrenzt verlängern',
    },
    'set it to 43200 (12 hours), so that everybody logs in once a day': {
      en: 'set it to 43200 (12 hours), so that everybody logs in once a day',
      de: 'Setzen Sie es auf 43200 (12 Stunden), damit sich alle einmal am Tag anmelden.',
    },
    'a session ends {0} after its login': {
      en: 'a session ends {0} after its login',
      de: '{0} nach der Anmeldung endet eine Sitzung',
    },
    '1 enabled administrator': {
      en: '1 enabled administrator',
      de: 'Ein Administrator, dessen Konto nicht gesperrt ist',
    },
    '{0} enabled administrators': {
      en: '{0} enabled administrators',
      de: '{0} Administratoren, deren Konten nicht gesperrt sind',
    },
    'there is no enabled administrator': {
      en: 'there is no enabled administrator',
      de: 'Es gibt keinen Administrator, dessen Konto nicht gesperrt ist',
    },
    'no backup is known; backups by other means are not recorded here': {
      en: 'no backup is known; backups by other means are not recorded here',
      de: 'Keine Sicherung ist bekannt; Sicherungen auf anderen Wegen stehen hier nicht',
    },
    'make sure that there is one, and that it can be restored': {
      en: 'make sure that there is one, and that it can be restored',
      de: 'Sorgen Sie dafür, dass es eine gibt und dass sie sich zurückspielen lässt.',
    },
    'the last backup was made {0}': { en: 'the last backup was made {0}', de: 'Letzte Sicherung: {0}' },
    'make one now, and see why none was made since': {
      en: 'make one now, and see why none was made since',
      de: 'Machen Sie jetzt eine, und sehen Sie nach, warum seither keine entstand.',
    },
    'events that repeat take {0} of {1} MB': {
      en: 'events that repeat take {0} of {1} MB',
      de: 'Ereignisse, die sich wiederholen, belegen {0} von {1} MB',
    },
    '{0}; above that, the oldest of them are removed': {
      en: '{0}; above that, the oldest of them are removed',
      de: '{0}; darüber werden die ältesten entfernt',
    },
    'replaced versions that are held for snapshots take {0} of {1} MB': {
      en: 'replaced versions that are held for snapshots take {0} of {1} MB',
      de: 'ersetzte Versionen, die für Schnappschüsse aufgehoben werden, belegen {0} von {1} MB',
    },
    '{0}; above that, snapshots expire before CARREL_SNAPSHOT_TIME': {
      en: '{0}; above that, snapshots expire before CARREL_SNAPSHOT_TIME',
      de: '{0}; darüber verfallen Schnappschüsse vor CARREL_SNAPSHOT_TIME',
    },
    'raise CARREL_SNAPSHOT_SIZE, or lower CARREL_SNAPSHOT_TIME': {
      en: 'raise CARREL_SNAPSHOT_SIZE, or lower CARREL_SNAPSHOT_TIME',
      de: 'Erhöhen Sie CARREL_SNAPSHOT_SIZE, oder senken Sie CARREL_SNAPSHOT_TIME.',
    },
    'raise CARREL_EVENTS_SIZE, or export events and prune them (`carrel events`)': {
      en: 'raise CARREL_EVENTS_SIZE, or export events and prune them (`carrel events`)',
      de: 'Erhöhen Sie CARREL_EVENTS_SIZE, oder exportieren und kürzen Sie das Protokoll (`carrel events`).',
    },
    'CARREL_TRUSTED_PROXIES contains {0}, which is everyone: any client can claim any address in X-Forwarded-For':
      {
        en: 'CARREL_TRUSTED_PROXIES contains {0}, which is everyone: any client can claim any address in X-Forwarded-For',
        de: 'CARREL_TRUSTED_PROXIES enthält {0}, also alle: Jeder Client kann in X-Forwarded-For jede Adresse behaupten',
      },
    'name the address of the proxy alone, such as 127.0.0.1': {
      en: 'name the address of the proxy alone, such as 127.0.0.1',
      de: 'Nennen Sie nur die Adresse des Proxys, etwa 127.0.0.1.',
    },
    'CARREL_TRUSTED_PROXIES contains {0}: any client in that network can claim any address': {
      en: 'CARREL_TRUSTED_PROXIES contains {0}: any client in that network can claim any address',
      de: 'CARREL_TRUSTED_PROXIES enthält {0}: Jeder Client in diesem Netz kann jede Adresse behaupten',
    },
    'name the addresses of the proxies alone': {
      en: 'name the addresses of the proxies alone',
      de: 'Nennen Sie nur die Adressen der Proxys.',
    },
    'clients reach Carrel directly at {0}': {
      en: 'clients reach Carrel directly at {0}',
      de: 'Clients erreichen Carrel unmittelbar unter {0}',
    },
    'CARREL_BASE_URL is {0}, so there is a proxy in front, and CARREL_TRUSTED_PROXIES is empty: every client seems to have the address of the proxy':
      {
        en: 'CARREL_BASE_URL is {0}, so there is a proxy in front, and CARREL_TRUSTED_PROXIES is empty: every client seems to have the address of the proxy',
        de: 'CARREL_BASE_URL ist {0}, also steht ein Proxy davor, und CARREL_TRUSTED_PROXIES ist leer: Jeder Client scheint die Adresse des Proxys zu haben',
      },
    'set CARREL_TRUSTED_PROXIES to the address of the proxy': {
      en: 'set CARREL_TRUSTED_PROXIES to the address of the proxy',
      de: 'Setzen Sie CARREL_TRUSTED_PROXIES auf die Adresse des Proxys.',
    },
    'client addresses are taken from {0}': {
      en: 'client addresses are taken from {0}',
      de: 'Adressen der Clients kommen von {0}',
    },
    'the proxy must pass the path {0} on unchanged, or every login is 403: {1} then shows {2}': {
      en: 'the proxy must pass the path {0} on unchanged, or every login is 403: {1} then shows {2}',
      de: 'Der Proxy muss den Pfad {0} unverändert weitergeben, sonst wird jede Anmeldung mit 403 abgelehnt: {1} zeigt dann {2}',
    },
    'Carrel listens on {0}, where clients may get past the proxy and send passwords over plain http': {
      en: 'Carrel listens on {0}, where clients may get past the proxy and send passwords over plain http',
      de: 'Carrel lauscht auf {0}, wo Clients am Proxy vorbeikommen und Passwörter über http senden können',
    },
    'set CARREL_HOST=127.0.0.1 if the proxy is on this machine; otherwise let only the proxy through the firewall':
      {
        en: 'set CARREL_HOST=127.0.0.1 if the proxy is on this machine; otherwise let only the proxy through the firewall',
        de: 'Setzen Sie CARREL_HOST=127.0.0.1, wenn der Proxy auf dieser Maschine läuft; sonst lassen Sie nur den Proxy durch die Firewall.',
      },
    'CARREL_BASE_URL is {0}: cookies are Secure': {
      en: 'CARREL_BASE_URL is {0}: cookies are Secure',
      de: 'CARREL_BASE_URL ist {0}: Cookies sind Secure',
    },
    'CARREL_BASE_URL is {0}: only this machine can use it': {
      en: 'CARREL_BASE_URL is {0}: only this machine can use it',
      de: 'CARREL_BASE_URL ist {0}: Nur diese Maschine kann den Dienst benutzen',
    },
    'set it to the public address before others use the service': {
      en: 'set it to the public address before others use the service',
      de: 'Setzen Sie es auf die öffentliche Adresse, bevor andere den Dienst benutzen.',
    },
    'CARREL_BASE_URL is {0}: passwords and tokens that are sent over http can be read on the network': {
      en: 'CARREL_BASE_URL is {0}: passwords and tokens that are sent over http can be read on the network',
      de: 'CARREL_BASE_URL ist {0}: Passwörter und Token, die über http gehen, lassen sich im Netz mitlesen',
    },
    'let a proxy terminate TLS, and set CARREL_BASE_URL to https://… (deploy/)': {
      en: 'let a proxy terminate TLS, and set CARREL_BASE_URL to https://… (deploy/)',
      de: 'Lassen Sie einen Proxy TLS beenden, und setzen Sie CARREL_BASE_URL auf https://… (deploy/).',
    },
    'CARREL_ALLOWED_ORIGINS is empty: browsers may call the API only from pages of {0}': {
      en: 'CARREL_ALLOWED_ORIGINS is empty: browsers may call the API only from pages of {0}',
      de: 'CARREL_ALLOWED_ORIGINS ist leer: Browser dürfen die API nur von Seiten von {0} aus benutzen',
    },
    'set it to the origin of the user interface if it differs': {
      en: 'set it to the origin of the user interface if it differs',
      de: 'Setzen Sie es auf den Ursprung der Oberfläche, wenn er ein anderer ist.',
    },
    'pages of {0} can use the API': {
      en: 'pages of {0} can use the API',
      de: 'Seiten von {0} können die API benutzen',
    },
    "pages of {0} can't call {1}: browsers block http on an https page": {
      en: "pages of {0} can't call {1}: browsers block http on an https page",
      de: 'Seiten von {0} können {1} nicht aufrufen: Browser lassen http auf einer https-Seite nicht zu',
    },
    'set CARREL_BASE_URL to https://…, with a proxy that terminates TLS': {
      en: 'set CARREL_BASE_URL to https://…, with a proxy that terminates TLS',
      de: 'Setzen Sie CARREL_BASE_URL auf https://…, mit einem Proxy, der TLS beendet.',
    },
    '{0} is on a different site from {1}: over http cookies are SameSite=Lax, so the CSRF cookie is not sent and every POST is 403':
      {
        en: '{0} is on a different site from {1}: over http cookies are SameSite=Lax, so the CSRF cookie is not sent and every POST is 403',
        de: '{0} ist eine andere Site als {1}: Über http sind Cookies SameSite=Lax, das CSRF-Cookie wird nicht gesendet, und jedes POST wird mit 403 abgelehnt',
      },
    'use https, or the same host name for both': {
      en: 'use https, or the same host name for both',
      de: 'Benutzen Sie https oder denselben Hostnamen für beide.',
    },
    "CARREL_ALLOWED_ORIGINS contains {0}: any program that listens there on a user's machine may act in that user's name":
      {
        en: "CARREL_ALLOWED_ORIGINS contains {0}: any program that listens there on a user's machine may act in that user's name",
        de: 'CARREL_ALLOWED_ORIGINS enthält {0}: Jedes Programm, das dort auf der Maschine eines Benutzers lauscht, kann in dessen Namen handeln',
      },
    'remove it if it is left from development': {
      en: 'remove it if it is left from development',
      de: 'Entfernen Sie es, wenn es von der Entwicklung übrig ist.',
    },
    '{0} in CARREL_ALLOWED_ORIGINS is http: tokens that its pages hold can be read on the network': {
      en: '{0} in CARREL_ALLOWED_ORIGINS is http: tokens that its pages hold can be read on the network',
      de: '{0} in CARREL_ALLOWED_ORIGINS ist http: Token in seinen Seiten lassen sich im Netz mitlesen',
    },
    'serve the user interface over https': {
      en: 'serve the user interface over https',
      de: 'Liefern Sie die Oberfläche über https aus.',
    },
    "{0} is on a different site from {1}: browsers that block third-party cookies (Safari; others by choice) don't send the CSRF cookie":
      {
        en: "{0} is on a different site from {1}: browsers that block third-party cookies (Safari; others by choice) don't send the CSRF cookie",
        de: '{0} ist eine andere Site als {1}: Browser, die Cookies Dritter sperren (Safari; andere auf Wunsch), senden das CSRF-Cookie nicht',
      },
    'give both host names under one domain, such as ui.example.edu and repo.example.edu': {
      en: 'give both host names under one domain, such as ui.example.edu and repo.example.edu',
      de: 'Geben Sie beiden Hostnamen in einer Domain, etwa ui.example.edu und repo.example.edu.',
    },
    "other users can't read the {0}": {
      en: "other users can't read the {0}",
      de: 'Andere Benutzer können nicht lesen: {0}',
    },
    'every user of this machine can change the settings in {0}': {
      en: 'every user of this machine can change the settings in {0}',
      de: 'Jeder Benutzer dieser Maschine kann die Einstellungen in {0} ändern',
    },
    '{0} has the mode {1}: other users can read the secret, and make tokens of anyone with it and a copy of the store':
      {
        en: '{0} has the mode {1}: other users can read the secret, and make tokens of anyone with it and a copy of the store',
        de: '{0} hat den Modus {1}: Andere Benutzer können das Geheimnis lesen und damit und mit einer Kopie des Bestands Token für jeden machen',
      },
    'chmod 600 {0}, then `carrel secret rotate` and `carrel eperson logout --all`: everyone has to log in again':
      {
        en: 'chmod 600 {0}, then `carrel secret rotate` and `carrel eperson logout --all`: everyone has to log in again',
        de: 'chmod 600 {0}, dann `carrel secret rotate` und `carrel eperson logout --all`: Alle müssen sich neu anmelden.',
      },
    '{0} has the mode {1}: every user of this machine can change it': {
      en: '{0} has the mode {1}: every user of this machine can change it',
      de: '{0} hat den Modus {1}: Jeder Benutzer dieser Maschine kann es ändern',
    },
    '{0} has the mode {1}: other users can read accounts and the audit trail': {
      en: '{0} has the mode {1}: other users can read accounts and the audit trail',
      de: '{0} hat den Modus {1}: Andere Benutzer können Konten und Protokoll lesen',
    },
    '{0} has the mode {1}: every user of this machine can read the files': {
      en: '{0} has the mode {1}: every user of this machine can read the files',
      de: '{0} hat den Modus {1}: Jeder Benutzer dieser Maschine kann die Dateien lesen',
    },
    '{0} has the mode {1}: every user of this machine can look into it': {
      en: '{0} has the mode {1}: every user of this machine can look into it',
      de: '{0} hat den Modus {1}: Jeder Benutzer dieser Maschine kann hineinsehen',
    },
    '{0} belongs to user {1}, but carrel.db belongs to user {2}: a command was run as another user than the service':
      {
        en: '{0} belongs to user {1}, but carrel.db belongs to user {2}: a command was run as another user than the service',
        de: '{0} gehört Benutzer {1}, carrel.db aber Benutzer {2}: Ein Befehl lief unter einem anderen Benutzer als der Dienst',
      },
    'chown both to the user of the service, and run commands as that user': {
      en: 'chown both to the user of the service, and run commands as that user',
      de: 'Geben Sie beide mit chown dem Benutzer des Dienstes, und führen Sie Befehle als dieser Benutzer aus.',
    },
    "the {0} is not there, or can't be looked into": {
      en: "the {0} is not there, or can't be looked into",
      de: 'Nicht vorhanden oder nicht zugänglich: {0}',
    },
    '{0}: downloads fail': { en: '{0}: downloads fail', de: '{0}. Downloads schlagen fehl' },
    'mount or restore it, set CARREL_FILES to where it is, or run the command as the user of the service': {
      en: 'mount or restore it, set CARREL_FILES to where it is, or run the command as the user of the service',
      de: 'Hängen Sie ihn ein oder spielen Sie ihn zurück, setzen Sie CARREL_FILES dorthin, wo er ist, oder führen Sie den Befehl als Benutzer des Dienstes aus.',
    },
    'the first ingest makes it; nodes of one service must share it': {
      en: 'the first ingest makes it; nodes of one service must share it',
      de: 'Die erste Aufnahme legt ihn an; Knoten eines Dienstes müssen ihn teilen.',
    },
    'the {0} is in memory: it is gone when the machine restarts': {
      en: 'the {0} is in memory: it is gone when the machine restarts',
      de: 'Im Arbeitsspeicher, also nach einem Neustart der Maschine weg: {0}',
    },
    'move it to a disk': { en: 'move it to a disk', de: 'Verschieben Sie ihn auf eine Platte.' },
    "the {0} is on a network ({1}): locks don't hold there, and the store will be damaged": {
      en: "the {0} is on a network ({1}): locks don't hold there, and the store will be damaged",
      de: 'Auf einem Netzlaufwerk ({1}), wo Sperren nicht greifen und der Bestand beschädigt wird: {0}',
    },
    'move it to a disk of this machine; for several machines use PostgreSQL (docs/deployment.md)': {
      en: 'move it to a disk of this machine; for several machines use PostgreSQL (docs/deployment.md)',
      de: 'Verschieben Sie ihn auf eine Platte dieser Maschine; für mehrere Maschinen nehmen Sie PostgreSQL (docs/deployment.md).',
    },
    'the {0} is on a file system in user space (FUSE)': {
      en: 'the {0} is on a file system in user space (FUSE)',
      de: 'In einem Dateisystem im Benutzerraum (FUSE): {0}',
    },
    "make sure that it isn't on a network, and that it has POSIX locks and shared memory": {
      en: "make sure that it isn't on a network, and that it has POSIX locks and shared memory",
      de: 'Sorgen Sie dafür, dass es nicht in einem Netz liegt und POSIX-Sperren und gemeinsamen Speicher hat.',
    },
    'the {0} is on {1}': { en: 'the {0} is on {1}', de: 'Der {0} liegt auf {1}' },
    '{0} of {1} are free for the {2}': {
      en: '{0} of {1} are free for the {2}',
      de: '{0} von {1} sind frei: {2}',
    },
    'make room: when the disk is full, whatever writes is answered with 503': {
      en: 'make room: when the disk is full, whatever writes is answered with 503',
      de: 'Schaffen Sie Platz: Ist die Platte voll, wird jeder Schreibvorgang mit 503 beantwortet.',
    },
    'only {0} of {1} inodes are free for {2}: no more files can be made when they are used up': {
      en: 'only {0} of {1} inodes are free for {2}: no more files can be made when they are used up',
      de: 'Nur {0} von {1} Inodes sind frei für {2}: Sind sie aufgebraucht, lassen sich keine Dateien mehr anlegen',
    },
    'remove small files, or recreate the file system with more inodes': {
      en: 'remove small files, or recreate the file system with more inodes',
      de: 'Entfernen Sie kleine Dateien, oder legen Sie das Dateisystem mit mehr Inodes neu an.',
    },
    '{0} has grown to {1}: something keeps an old snapshot, such as `carrel backup` or another program that reads the store':
      {
        en: '{0} has grown to {1}: something keeps an old snapshot, such as `carrel backup` or another program that reads the store',
        de: '{0} ist auf {1} gewachsen: Etwas hält einen alten Stand fest, etwa `carrel backup` oder ein anderes Programm, das den Bestand liest',
      },
    'restart the service to shrink it; if it grows again, look for what reads the store for long': {
      en: 'restart the service to shrink it; if it grows again, look for what reads the store for long',
      de: 'Starten Sie den Dienst neu, dann schrumpft es; wächst es wieder, suchen Sie, was den Bestand lange liest.',
    },
    '{0} is {1} MiB': { en: '{0} is {1} MiB', de: '{0} hat {1} MiB' },
    "this clock is {0} behind the database's, which Carrel goes by: times in its log are wrong, and single sign-on may fail":
      {
        en: "this clock is {0} behind the database's, which Carrel goes by: times in its log are wrong, and single sign-on may fail",
        de: 'Diese Uhr geht {0} gegenüber der Uhr der Datenbank nach, nach der Carrel geht: Zeiten in seinem Log sind falsch, und Single Sign-on kann scheitern',
      },
    "this clock is {0} ahead of the database's, which Carrel goes by: times in its log are wrong, and single sign-on may fail":
      {
        en: "this clock is {0} ahead of the database's, which Carrel goes by: times in its log are wrong, and single sign-on may fail",
        de: 'Diese Uhr geht {0} gegenüber der Uhr der Datenbank vor, nach der Carrel geht: Zeiten in seinem Log sind falsch, und Single Sign-on kann scheitern',
      },
    'set the clock by NTP on every machine (timedatectl set-ntp true)': {
      en: 'set the clock by NTP on every machine (timedatectl set-ntp true)',
      de: 'Stellen Sie die Uhr auf jeder Maschine durch NTP (timedatectl set-ntp true).',
    },
    "this clock and the database's agree within a second": {
      en: "this clock and the database's agree within a second",
      de: 'Diese Uhr und die der Datenbank weichen weniger als eine Sekunde voneinander ab',
    },
    "this clock is {0} behind the newest event of the audit trail: it was set back, or a node's clock is ahead. Events may be in the wrong order, and access rules with a date may hold too long":
      {
        en: "this clock is {0} behind the newest event of the audit trail: it was set back, or a node's clock is ahead. Events may be in the wrong order, and access rules with a date may hold too long",
        de: 'Diese Uhr geht gegenüber dem neuesten Ereignis im Protokoll {0} nach: Sie wurde zurückgestellt, oder die Uhr eines Knotens geht vor. Ereignisse können in falscher Reihenfolge stehen, und Zugriffsregeln mit einem Datum zu lange gelten',
      },
    'this clock is not behind the audit trail': {
      en: 'this clock is not behind the audit trail',
      de: 'Diese Uhr geht gegenüber dem Protokoll nicht nach',
    },
    'CARREL_PASSWORD_CONCURRENCY is {0}, on a machine with {1}: a burst of logins takes all of them, and other requests wait':
      {
        en: 'CARREL_PASSWORD_CONCURRENCY is {0}, on a machine with {1}: a burst of logins takes all of them, and other requests wait',
        de: 'CARREL_PASSWORD_CONCURRENCY ist {0}, auf einer Maschine mit {1}: Viele gleichzeitige Anmeldungen belegen alle, und andere Anfragen warten',
      },
    'set {0}=automatic, or leave it out': {
      en: 'set {0}=automatic, or leave it out',
      de: 'Setzen Sie {0}=automatic, oder lassen Sie es weg.',
    },
    'CARREL_PASSWORD_QUEUE is {0}: the last login in a full queue waits for about {1} s': {
      en: 'CARREL_PASSWORD_QUEUE is {0}: the last login in a full queue waits for about {1} s',
      de: 'CARREL_PASSWORD_QUEUE ist {0}: Die letzte Anmeldung in einer vollen Schlange wartet etwa {1} s',
    },
    'set it to {0} or less: a client that gets 503 tries again': {
      en: 'set it to {0} or less: a client that gets 503 tries again',
      de: 'Setzen Sie es auf {0} oder weniger: Ein Client, der 503 bekommt, versucht es noch einmal.',
    },
    'CARREL_WORKERS is {0}, on a machine with {1}: more threads only cost memory': {
      en: 'CARREL_WORKERS is {0}, on a machine with {1}: more threads only cost memory',
      de: 'CARREL_WORKERS ist {0}, auf einer Maschine mit {1}: Mehr Threads kosten nur Arbeitsspeicher',
    },
    "CARREL_CACHE_SIZE is {0} MB, more than half of this machine's memory": {
      en: "CARREL_CACHE_SIZE is {0} MB, more than half of this machine's memory",
      de: 'CARREL_CACHE_SIZE ist {0} MB, mehr als die Hälfte des Arbeitsspeichers',
    },
    'set it to a quarter of the memory or less': {
      en: 'set it to a quarter of the memory or less',
      de: 'Setzen Sie es auf ein Viertel des Arbeitsspeichers oder weniger.',
    },
    'threads, queues and cache fit {0}': {
      en: 'threads, queues and cache fit {0}',
      de: 'Threads, Schlangen und Zwischenspeicher passen zu {0}',
    },
    'PostgreSQL {0} is too old': { en: 'PostgreSQL {0} is too old', de: 'PostgreSQL {0} ist zu alt' },
    "PostgreSQL {0} can't search for words in tables": {
      en: "PostgreSQL {0} can't search for words in tables",
      de: 'PostgreSQL {0} kann in Tabellen nicht nach Wörtern suchen',
    },
    'use PostgreSQL 17 or newer': {
      en: 'use PostgreSQL 17 or newer',
      de: 'Benutzen Sie PostgreSQL 17 oder neuer.',
    },
    'use PostgreSQL 14 or newer': {
      en: 'use PostgreSQL 14 or newer',
      de: 'Benutzen Sie PostgreSQL 14 oder neuer.',
    },
    'create the database with ENCODING UTF8, and copy the store there': {
      en: 'create the database with ENCODING UTF8, and copy the store there',
      de: 'Legen Sie die Datenbank mit ENCODING UTF8 an, und kopieren Sie den Bestand dorthin.',
    },
    'PostgreSQL {0}': { en: 'PostgreSQL {0}', de: 'PostgreSQL {0}' },
    'the server has {0}: what was acknowledged may be lost when it fails': {
      en: 'the server has {0}: what was acknowledged may be lost when it fails',
      de: 'Der Server hat {0}: Bestätigtes kann verloren gehen, wenn er ausfällt',
    },
    'no commit waits for {0}: one that takes over may lack the last changes, and tokens revoked by them are good again':
      {
        en: 'no commit waits for {0}: one that takes over may lack the last changes, and tokens revoked by them are good again',
        de: 'Kein Commit wartet auf {0}: Einem, der übernimmt, können die letzten Änderungen fehlen, und von ihnen widerrufene Token gelten wieder',
      },
    'set synchronous_standby_names, unless none is ever promoted (docs/deployment.md)': {
      en: 'set synchronous_standby_names, unless none is ever promoted (docs/deployment.md)',
      de: 'Setzen Sie synchronous_standby_names, wenn je einer übernehmen soll (docs/deployment.md).',
    },
    'access tokens from before CARREL_SECOND_FACTOR={0} go on, though no second factor is enrolled: {1}': {
      en: 'access tokens from before CARREL_SECOND_FACTOR={0} go on, though no second factor is enrolled: {1}',
      de: 'Zugriffstoken von vor CARREL_SECOND_FACTOR={0} gelten weiter, obwohl kein zweiter Faktor eingerichtet ist: {1}',
    },
    '`carrel access-token list` shows them, and `carrel access-token revoke` ends one': {
      en: '`carrel access-token list` shows them, and `carrel access-token revoke` ends one',
      de: '`carrel access-token list` zeigt sie, und `carrel access-token revoke` beendet eines.',
    },
    'set it to on in postgresql.conf': {
      en: 'set it to on in postgresql.conf',
      de: 'Setzen Sie es in postgresql.conf auf on.',
    },
    "the connection to {0} is not encrypted: passwords' hashes and the signing secret cross the network": {
      en: "the connection to {0} is not encrypted: passwords' hashes and the signing secret cross the network",
      de: 'Die Verbindung zu {0} ist nicht verschlüsselt: Passwort-Hashes und das Geheimnis gehen durch das Netz',
    },
    'add ?sslmode=verify-full to CARREL_DATABASE_URL': {
      en: 'add ?sslmode=verify-full to CARREL_DATABASE_URL',
      de: 'Fügen Sie CARREL_DATABASE_URL ?sslmode=verify-full an.',
    },
    'a node opens up to {0} connections, and the limit of {1} is {2}: room for {3}': {
      en: 'a node opens up to {0} connections, and the limit of {1} is {2}: room for {3}',
      de: 'Ein Knoten öffnet bis zu {0} Verbindungen, die Grenze ({1}) ist {2}: Platz für {3}',
    },
    'a node opens up to {0} connections, and the limit of {1} is {2}': {
      en: 'a node opens up to {0} connections, and the limit of {1} is {2}',
      de: 'Ein Knoten öffnet bis zu {0} Verbindungen, die Grenze ({1}) ist {2}',
    },
    'set CARREL_DATABASE_POOL_SIZE to {0} or less, or {1}': {
      en: 'set CARREL_DATABASE_POOL_SIZE to {0} or less, or {1}',
      de: 'Setzen Sie CARREL_DATABASE_POOL_SIZE auf {0} oder weniger, oder {1}.',
    },
    '{0} of {1} connections of {2} are in use': {
      en: '{0} of {1} connections of {2} are in use',
      de: '{0} von {1} Verbindungen sind in Gebrauch ({2})',
    },
    '{0}, or lower CARREL_DATABASE_POOL_SIZE on every node': {
      en: '{0}, or lower CARREL_DATABASE_POOL_SIZE on every node',
      de: '{0}, oder senken Sie CARREL_DATABASE_POOL_SIZE auf jedem Knoten.',
    },
    "the replica can't be read: {0}; the primary answers for it": {
      en: "the replica can't be read: {0}; the primary answers for it",
      de: 'Die Replik lässt sich nicht lesen: {0}; die primäre Datenbank antwortet für sie',
    },
    "the replica can't be used: {0}": {
      en: "the replica can't be used: {0}",
      de: 'Die Replik lässt sich nicht benutzen: {0}',
    },
    'correct CARREL_DATABASE_REPLICA_URL, or leave it out': {
      en: 'correct CARREL_DATABASE_REPLICA_URL, or leave it out',
      de: 'Berichtigen Sie CARREL_DATABASE_REPLICA_URL, oder lassen Sie es weg.',
    },
    '{0}: lists of epersons, groups and events are stale': {
      en: '{0}: lists of epersons, groups and events are stale',
      de: '{0}: Listen von Personen, Gruppen und Ereignissen sind veraltet',
    },
    '{0}, its newest change {1} s old': {
      en: '{0}, its newest change {1} s old',
      de: '{0}, ihre neueste Änderung ist {1} s alt',
    },
    'the replica is {0} bytes behind': {
      en: 'the replica is {0} bytes behind',
      de: 'Die Replik liegt {0} Byte zurück',
    },
    'check whether replay is paused or a long query holds it up (pg_stat_wal_receiver on the replica)': {
      en: 'check whether replay is paused or a long query holds it up (pg_stat_wal_receiver on the replica)',
      de: 'Sehen Sie nach, ob das Nachspielen angehalten ist oder eine lange Abfrage es aufhält (pg_stat_wal_receiver auf der Replik).',
    },
    'the replica has all that the primary has': {
      en: 'the replica has all that the primary has',
      de: 'Die Replik hat alles, was die primäre Datenbank hat',
    },
    'correct it: Carrel does not start like this': {
      en: 'correct it: Carrel does not start like this',
      de: 'Berichtigen Sie es: So startet Carrel nicht.',
    },
    'docs/sso.md explains the setting; `carrel sso check` repeats this part': {
      en: 'docs/sso.md explains the setting; `carrel sso check` repeats this part',
      de: 'docs/sso.md erklärt die Einstellung; `carrel sso check` wiederholt diesen Teil.',
    },
  },
  /** Queues of the service. */
  queue: {
    passwords: { en: 'passwords', de: 'Passwörter' },
    directory: { en: 'directory', de: 'Verzeichnis' },
    pages: { en: 'pages', de: 'Seiten' },
    listings: { en: 'long lists', de: 'lange Listen' },
    'listing connections': { en: 'connections of lists', de: 'Verbindungen von Listen' },
    'long texts': { en: 'long queries', de: 'lange Abfragen' },
    'large bodies': { en: 'large queries', de: 'große Abfragen' },
    'saml messages': { en: 'SAML messages', de: 'SAML-Nachrichten' },
  },
  /** Outcomes of a login that is explained. */
  explained: {
    known: { en: 'Someone known logs in', de: 'Jemand Bekanntes meldet sich an' },
    linked: {
      en: 'An account that is there is linked, and logs in',
      de: 'Ein vorhandenes Konto wird verknüpft und meldet sich an',
    },
    created: { en: 'A new account is made, and logs in', de: 'Ein neues Konto entsteht und meldet sich an' },
    refused: { en: 'The login is refused', de: 'Die Anmeldung wird abgelehnt' },
  },
  /** Verdicts on the signature of an assertion. */
  signature: {
    valid: { en: 'valid', de: 'gültig' },
    'not checked': { en: 'not checked', de: 'nicht geprüft' },
  },
} as const satisfies Terms
