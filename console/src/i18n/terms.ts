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
  /** Ways to log in. A provider has the name that its operator gave it. */
  method: {
    password: { en: 'password', de: 'Passwort' },
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
    'files-full': { en: 'There is no room for more files', de: 'Für weitere Dateien ist kein Platz' },
    'not-writable': {
      en: 'Records of this collection can’t be written',
      de: 'Datensätze dieser Sammlung lassen sich nicht schreiben',
    },
    'record-refused': { en: 'The record is refused', de: 'Der Datensatz wird abgelehnt' },
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
