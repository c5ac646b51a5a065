import type { Schemas } from '@carrel/client'
import type { words as ofDoctor } from '../../../src/cli/doctor/words.ts'
import type { words as ofSignOn } from '../../../src/sso/check/findings.ts'

type Said = string | readonly [what: string, advice: string]
type ByCode = typeof ofDoctor & typeof ofSignOn
type Words = { readonly [Code in keyof ByCode]?: (values: Parameters<ByCode[Code]>[0]) => Said }
type Limit = { readonly of: 'server' | 'role' | 'database' }

const signOnAdvice = 'docs/sso.md erklärt die Einstellung; `carrel sso check` wiederholt diesen Teil.'

const number = (value: number, decimals = 0) =>
  value.toLocaleString('de', { maximumFractionDigits: decimals })
const mebibyte = 1024 ** 2
const mebibytes = (bytes: number) => `${number(Math.floor(bytes / mebibyte))} MiB`
const seconds = (value: number) =>
  `${value.toLocaleString('de', { minimumFractionDigits: 1, maximumFractionDigits: 1 })} s`
const days = (value: number) => (value === 1 ? '1 Tag' : `${number(value)} Tage`)
const ago = (value: number) =>
  value < 1 ? 'vor weniger als einem Tag' : value === 1 ? 'vor einem Tag' : `vor ${number(value)} Tagen`
const processors = (value: number) => (value === 1 ? 'einem Prozessor' : `${value} Prozessoren`)

function duration(value: number): string {
  const [size, unit] =
    (
      [
        [86_400, 'Tage'],
        [3_600, 'Stunden'],
        [60, 'Minuten'],
      ] as const
    ).find(([one]) => value >= 2 * one) ?? ([1, value === 1 ? 'Sekunde' : 'Sekunden'] as const)
  return `${number(value / size, 1)} ${unit}`
}

const named = ({ folder, path }: { readonly folder: 'data' | 'files'; readonly path: string }) =>
  `${folder === 'data' ? 'Datenordner' : 'Dateiordner'} ${path}`
const megabytes = ({ takenBytes, maxBytes }: { readonly takenBytes: number; readonly maxBytes: number }) =>
  `${number(takenBytes / mebibyte, 1)} von ${number(maxBytes / mebibyte, 1)} MB`
const limited = ({ of }: Limit) =>
  ({ server: 'der Server', role: 'diese Rolle', database: 'diese Datenbank' })[of]
const raise = ({ of }: Limit) =>
  of === 'server'
    ? 'erhöhen Sie max_connections'
    : `erhöhen Sie es mit ALTER ${of === 'role' ? 'ROLE' : 'DATABASE'} … CONNECTION LIMIT`
const behind = (lag: { readonly bytesBehind: number; readonly secondsBehind: number | null }) =>
  `Die Replik liegt ${number(lag.bytesBehind)} Byte zurück${lag.secondsBehind === null ? '' : `, ihre neueste Änderung ist ${lag.secondsBehind} s alt`}`
const correctReplica = 'Berichtigen Sie CARREL_DATABASE_REPLICA_URL, oder lassen Sie es weg.'
const byNtp = 'Stellen Sie die Uhr auf jeder Maschine durch NTP (timedatectl set-ntp true).'
const ofDatabase = 'nach der Carrel geht: Zeiten in seinem Log sind falsch, und Single Sign-on kann scheitern'

const german: Words = {
  'settings-wrong': ({ reason }) => [reason, 'Berichtigen Sie es: So startet Carrel nicht.'],
  'store-unreadable': ({ place, reason }) => [
    `Der Bestand in ${place} lässt sich nicht lesen: ${reason}`,
    'Sehen Sie nach, ob die Einstellungen den richtigen nennen, und führen Sie den Befehl als Benutzer des Dienstes aus.',
  ],
  'cookies-secure': ({ baseUrl }) => `CARREL_BASE_URL ist ${baseUrl}: Cookies sind Secure`,
  'base-url-loopback': ({ baseUrl }) => [
    `CARREL_BASE_URL ist ${baseUrl}: Nur diese Maschine kann den Dienst benutzen`,
    'Setzen Sie es auf die öffentliche Adresse, bevor andere den Dienst benutzen.',
  ],
  'base-url-plain': ({ baseUrl }) => [
    `CARREL_BASE_URL ist ${baseUrl}: Passwörter und Token, die über http gehen, lassen sich im Netz mitlesen`,
    'Lassen Sie einen Proxy TLS beenden, und setzen Sie CARREL_BASE_URL auf https://… (deploy/).',
  ],
  'proxies-everyone': ({ range }) => [
    `CARREL_TRUSTED_PROXIES enthält ${range}, also alle: Jeder Client kann in X-Forwarded-For jede Adresse behaupten`,
    'Nennen Sie nur die Adresse des Proxys, etwa 127.0.0.1.',
  ],
  'proxies-network': ({ range }) => [
    `CARREL_TRUSTED_PROXIES enthält ${range}: Jeder Client in diesem Netz kann jede Adresse behaupten`,
    'Nennen Sie nur die Adressen der Proxys.',
  ],
  'proxy-none': ({ baseUrl }) => `Clients erreichen Carrel unmittelbar unter ${baseUrl}`,
  'proxy-not-trusted': ({ baseUrl }) => [
    `CARREL_BASE_URL ist ${baseUrl}, also steht ein Proxy davor, und CARREL_TRUSTED_PROXIES ist leer: Jeder Client scheint die Adresse des Proxys zu haben`,
    'Setzen Sie CARREL_TRUSTED_PROXIES auf die Adresse des Proxys.',
  ],
  'proxies-trusted': ({ ranges }) => `Adressen der Clients kommen von ${ranges.join(', ')}`,
  'proxy-path': ({ path, baseUrl }) =>
    `Der Proxy muss den Pfad ${path} unverändert weitergeben, sonst wird jede Anmeldung mit 403 abgelehnt: \`curl -si ${baseUrl}/api/security/csrf\` zeigt dann Path=${path}/api`,
  'proxy-avoidable': ({ host }) => [
    `Carrel lauscht auf ${host}, wo Clients am Proxy vorbeikommen und Passwörter über http senden können`,
    'Setzen Sie CARREL_HOST=127.0.0.1, wenn der Proxy auf dieser Maschine läuft; sonst lassen Sie nur den Proxy durch die Firewall.',
  ],
  'origins-none': ({ origin }) => [
    `CARREL_ALLOWED_ORIGINS ist leer: Browser dürfen die API nur von Seiten von ${origin} aus benutzen`,
    'Setzen Sie es auf den Ursprung der Oberfläche, wenn er ein anderer ist.',
  ],
  'origins-allowed': ({ origins }) => `Seiten von ${origins.join(', ')} können die API benutzen`,
  'origin-mixed-content': ({ origin, baseUrl }) => [
    `Seiten von ${origin} können ${baseUrl} nicht aufrufen: Browser lassen http auf einer https-Seite nicht zu`,
    'Setzen Sie CARREL_BASE_URL auf https://…, mit einem Proxy, der TLS beendet.',
  ],
  'origin-cross-site-plain': ({ origin, baseUrl }) => [
    `${origin} ist eine andere Site als ${baseUrl}: Über http sind Cookies SameSite=Lax, das CSRF-Cookie wird nicht gesendet, und jedes POST wird mit 403 abgelehnt`,
    'Benutzen Sie https oder denselben Hostnamen für beide.',
  ],
  'origin-cross-site': ({ origin, baseUrl }) => [
    `${origin} ist eine andere Site als ${baseUrl}: Browser, die Cookies Dritter sperren (Safari; andere auf Wunsch), senden das CSRF-Cookie nicht`,
    'Geben Sie beiden Hostnamen in einer Domain, etwa ui.example.edu und repo.example.edu.',
  ],
  'origin-loopback': ({ origin }) => [
    `CARREL_ALLOWED_ORIGINS enthält ${origin}: Jedes Programm, das dort auf der Maschine eines Benutzers lauscht, kann in dessen Namen handeln`,
    'Entfernen Sie es, wenn es von der Entwicklung übrig ist.',
  ],
  'origin-plain': ({ origin }) => [
    `${origin} in CARREL_ALLOWED_ORIGINS ist http: Token in seinen Seiten lassen sich im Netz mitlesen`,
    'Liefern Sie die Oberfläche über https aus.',
  ],
  'folder-private': folder => `Andere Benutzer können nicht lesen: ${named(folder)}`,
  'settings-writable': ({ path }) => [
    `Jeder Benutzer dieser Maschine kann die Einstellungen in ${path} ändern`,
    `chmod o-w ${path}`,
  ],
  'secret-readable': ({ path, mode }) => [
    `${path} hat den Modus ${mode}: Andere Benutzer können das Geheimnis lesen und damit und mit einer Kopie des Bestands Token für jeden machen`,
    `chmod 600 ${path}, dann \`carrel secret rotate\` und \`carrel eperson logout --all\`: Alle müssen sich neu anmelden.`,
  ],
  'entry-writable': ({ path, mode }) => [
    `${path} hat den Modus ${mode}: Jeder Benutzer dieser Maschine kann es ändern`,
    `chmod o-rwx ${path}`,
  ],
  'store-readable': ({ path, mode }) => [
    `${path} hat den Modus ${mode}: Andere Benutzer können Konten und Protokoll lesen`,
    `chmod 600 ${path}`,
  ],
  'files-readable': ({ path, mode }) => [
    `${path} hat den Modus ${mode}: Jeder Benutzer dieser Maschine kann die Dateien lesen`,
    `chmod o-rwx ${path}`,
  ],
  'entry-readable': ({ path, mode }) => [
    `${path} hat den Modus ${mode}: Jeder Benutzer dieser Maschine kann hineinsehen`,
    `chmod o-rwx ${path}`,
  ],
  'owner-differs': ({ path, owner, storeOwner }) => [
    `${path} gehört Benutzer ${owner}, carrel.db aber Benutzer ${storeOwner}: Ein Befehl lief unter einem anderen Benutzer als der Dienst`,
    'Geben Sie beide mit chown dem Benutzer des Dienstes, und führen Sie Befehle als dieser Benutzer aus.',
  ],
  'files-missing': ({ path }) => [
    `Nicht vorhanden oder nicht zugänglich: Dateiordner ${path}. Downloads schlagen fehl`,
    'Hängen Sie ihn ein oder spielen Sie ihn zurück, setzen Sie CARREL_FILES dorthin, wo er ist, oder führen Sie den Befehl als Benutzer des Dienstes aus.',
  ],
  'files-not-yet': ({ path }) => [
    `Nicht vorhanden oder nicht zugänglich: Dateiordner ${path}`,
    'Die erste Aufnahme legt ihn an; Knoten eines Dienstes müssen ihn teilen.',
  ],
  'folder-in-memory': folder => [
    `Im Arbeitsspeicher, also nach einem Neustart der Maschine weg: ${named(folder)}`,
    'Verschieben Sie ihn auf eine Platte.',
  ],
  'store-on-network': ({ path, fileSystem }) => [
    `Auf einem Netzlaufwerk (${fileSystem}), wo Sperren nicht greifen und der Bestand beschädigt wird: Datenordner ${path}`,
    'Verschieben Sie ihn auf eine Platte dieser Maschine; für mehrere Maschinen nehmen Sie PostgreSQL (docs/deployment.md).',
  ],
  'store-in-user-space': ({ path }) => [
    `In einem Dateisystem im Benutzerraum (FUSE): Datenordner ${path}`,
    'Sorgen Sie dafür, dass es nicht in einem Netz liegt und POSIX-Sperren und gemeinsamen Speicher hat.',
  ],
  'folder-on-disk': folder => `Der ${named(folder)} liegt auf einem Dateisystem dieser Maschine`,
  'folder-on-network': ({ fileSystem, ...folder }) => `Der ${named(folder)} liegt auf ${fileSystem}`,
  'space-free': ({ freeBytes, sizeBytes, ...folder }) => [
    `${mebibytes(freeBytes)} von ${mebibytes(sizeBytes)} sind frei: ${named(folder)}`,
    'Schaffen Sie Platz: Ist die Platte voll, wird jeder Schreibvorgang mit 503 beantwortet.',
  ],
  'inodes-few': ({ path, free, inodes }) => [
    `Nur ${number(free)} von ${number(inodes)} Inodes sind frei für ${path}: Sind sie aufgebraucht, lassen sich keine Dateien mehr anlegen`,
    'Entfernen Sie kleine Dateien, oder legen Sie das Dateisystem mit mehr Inodes neu an.',
  ],
  'log-size': ({ path, sizeBytes }) => `${path} hat ${mebibytes(sizeBytes)}`,
  'log-large': ({ path, sizeBytes }) => [
    `${path} ist auf ${mebibytes(sizeBytes)} gewachsen: Etwas hält einen alten Stand fest, etwa \`carrel backup\` oder ein anderes Programm, das den Bestand liest`,
    'Starten Sie den Dienst neu, dann schrumpft es; wächst es wieder, suchen Sie, was den Bestand lange liest.',
  ],
  'schema-newer': () => [
    'Ein neueres Carrel hat diesen Bestand geschrieben, und dieses lehnt ihn ab',
    'Benutzen Sie das neuere Carrel.',
  ],
  'schema-older': () => [
    'Ein älteres Carrel hat diesen Bestand geschrieben; der nächste Start oder Befehl bringt ihn auf den neuen Stand, und das ältere kann ihn dann nicht mehr benutzen',
    'Machen Sie vorher eine Sicherung.',
  ],
  'schema-current': () => 'Der Bestand hat das Schema dieses Carrel',
  'postgresql-right': ({ version, encoding }) => `PostgreSQL ${version}, ${encoding}`,
  'postgresql-old': ({ version, encoding }) => [
    `PostgreSQL ${version}, ${encoding} ist zu alt`,
    'Benutzen Sie PostgreSQL 14 oder neuer.',
  ],
  'postgresql-encoding': ({ version, encoding }) => [
    `PostgreSQL ${version}, ${encoding}`,
    'Legen Sie die Datenbank mit ENCODING UTF8 an, und kopieren Sie den Bestand dorthin.',
  ],
  'postgresql-search': ({ version, encoding }) => [
    `PostgreSQL ${version}, ${encoding} kann in Tabellen nicht nach Wörtern suchen`,
    'Benutzen Sie PostgreSQL 17 oder neuer.',
  ],
  'postgresql-unsafe': ({ settings }) => [
    `Der Server hat ${settings.join(', ')}: Bestätigtes kann verloren gehen, wenn er ausfällt`,
    'Setzen Sie es in postgresql.conf auf on.',
  ],
  'standbys-behind': ({ standbys }) => [
    `Kein Commit wartet auf ${standbys === 1 ? 'einen Standby' : `${standbys} Standbys`}: Einem, der übernimmt, können die letzten Änderungen fehlen, und von ihnen widerrufene Token gelten wieder`,
    'Setzen Sie synchronous_standby_names, wenn je einer übernehmen soll (docs/deployment.md).',
  ],
  'connection-plain': ({ hosts }) => [
    `Die Verbindung zu ${hosts.join(', ')} ist nicht verschlüsselt: Passwort-Hashes und das Geheimnis gehen durch das Netz`,
    'Fügen Sie CARREL_DATABASE_URL ?sslmode=verify-full an.',
  ],
  'connections-fit': ({ needed, max, nodes, ...limit }) =>
    `Ein Knoten öffnet bis zu ${needed} Verbindungen, die Grenze (${limited(limit)}) ist ${max}: Platz für ${nodes === 1 ? 'einen' : nodes} Knoten`,
  'connections-lacking': ({ needed, max, fitting, ...limit }) => [
    `Ein Knoten öffnet bis zu ${needed} Verbindungen, die Grenze (${limited(limit)}) ist ${max}`,
    `Setzen Sie CARREL_DATABASE_POOL_SIZE auf ${fitting} oder weniger, oder ${raise(limit)}.`,
  ],
  'connections-used': ({ used, max, ...limit }) => [
    `${used} von ${max} Verbindungen sind in Gebrauch (${limited(limit)})`,
    `Senken Sie CARREL_DATABASE_POOL_SIZE auf jedem Knoten, oder ${raise(limit)}.`,
  ],
  'replica-unreachable': ({ reason }) => [
    `Die Replik lässt sich nicht lesen: ${reason}; die primäre Datenbank antwortet für sie`,
    correctReplica,
  ],
  'replica-unusable': ({ reason }) => [`Die Replik lässt sich nicht benutzen: ${reason}`, correctReplica],
  'replica-current': () => 'Die Replik hat alles, was die primäre Datenbank hat',
  'replica-behind': behind,
  'replica-stale': lag => [
    `${behind(lag)}: Listen von Personen, Gruppen und Ereignissen sind veraltet`,
    'Sehen Sie nach, ob das Nachspielen angehalten ist oder eine lange Abfrage es aufhält (pg_stat_wal_receiver auf der Replik).',
  ],
  'clock-behind-database': values => [
    `Diese Uhr geht ${seconds(values.seconds)} gegenüber der Uhr der Datenbank nach, ${ofDatabase}`,
    byNtp,
  ],
  'clock-ahead-of-database': values => [
    `Diese Uhr geht ${seconds(values.seconds)} gegenüber der Uhr der Datenbank vor, ${ofDatabase}`,
    byNtp,
  ],
  'clock-as-database': () =>
    'Diese Uhr und die der Datenbank weichen weniger als eine Sekunde voneinander ab',
  'clock-behind-trail': values => [
    `Diese Uhr geht gegenüber dem neuesten Ereignis im Protokoll ${seconds(values.seconds)} nach: Sie wurde zurückgestellt, oder die Uhr eines Knotens geht vor. Ereignisse können in falscher Reihenfolge stehen, und Zugriffsregeln mit einem Datum zu lange gelten`,
    byNtp,
  ],
  'clock-not-behind-trail': () => 'Diese Uhr geht gegenüber dem Protokoll nicht nach',
  'secret-set': () => [
    'CARREL_TOKEN_SECRET legt das Geheimnis fest; sein Alter ist hier unbekannt',
    'Ersetzen Sie es einmal im Jahr: das neue und ein Komma vor dem alten.',
  ],
  'secret-age': values => [
    `Das Geheimnis, das Token signiert, ist ${days(values.days)} alt`,
    '`carrel secret rotate`; niemand wird abgemeldet.',
  ],
  'sessions-endless': () => [
    'CARREL_SESSION_LIFETIME ist nicht gesetzt: Ein Token lässt sich unbegrenzt verlängern',
    'Setzen Sie es auf 43200 (12 Stunden), damit sich alle einmal am Tag anmelden.',
  ],
  'sessions-end': values => `${duration(values.seconds)} nach der Anmeldung endet eine Sitzung`,
  administrators: ({ administrators }) =>
    administrators === 1
      ? 'Ein Administrator, dessen Konto nicht gesperrt ist'
      : `${number(administrators)} Administratoren, deren Konten nicht gesperrt sind`,
  'administrators-none': () => [
    'Es gibt keinen Administrator, dessen Konto nicht gesperrt ist',
    '`carrel eperson add <email> --admin`',
  ],
  'backup-unknown': () => [
    'Keine Sicherung ist bekannt; Sicherungen auf anderen Wegen stehen hier nicht',
    'Sorgen Sie dafür, dass es eine gibt und dass sie sich zurückspielen lässt.',
  ],
  'backup-age': values => [
    `Letzte Sicherung: ${ago(values.days)}`,
    'Machen Sie jetzt eine, und sehen Sie nach, warum seither keine entstand.',
  ],
  'trail-size': size => `Ereignisse, die sich wiederholen, belegen ${megabytes(size)}`,
  'trail-nearly-full': size => [
    `Ereignisse, die sich wiederholen, belegen ${megabytes(size)}; darüber werden die ältesten entfernt`,
    'Erhöhen Sie CARREL_EVENTS_SIZE, oder exportieren und kürzen Sie das Protokoll (`carrel events`).',
  ],
  'snapshots-size': size =>
    `Ersetzte Versionen, die für Schnappschüsse aufgehoben werden, belegen ${megabytes(size)}`,
  'snapshots-nearly-full': size => [
    `Ersetzte Versionen, die für Schnappschüsse aufgehoben werden, belegen ${megabytes(size)}; darüber verfallen Schnappschüsse vor CARREL_SNAPSHOT_TIME`,
    'Erhöhen Sie CARREL_SNAPSHOT_SIZE, oder senken Sie CARREL_SNAPSHOT_TIME.',
  ],
  'access-tokens-without-factor': ({ secondFactor, emails, more }) => [
    `Zugriffstoken von vor CARREL_SECOND_FACTOR=${secondFactor} gelten weiter, obwohl kein zweiter Faktor eingerichtet ist: ${emails.join(', ')}${more > 0 ? ` und ${more} weitere` : ''}`,
    '`carrel access-token list` zeigt sie, und `carrel access-token revoke` beendet eines.',
  ],
  'hashes-many': values => [
    `CARREL_PASSWORD_CONCURRENCY ist ${values.concurrency}, auf einer Maschine mit ${processors(values.processors)}: Viele gleichzeitige Anmeldungen belegen alle, und andere Anfragen warten`,
    'Setzen Sie CARREL_PASSWORD_CONCURRENCY=automatic, oder lassen Sie es weg.',
  ],
  'login-queue-long': values => [
    `CARREL_PASSWORD_QUEUE ist ${values.queue}: Die letzte Anmeldung in einer vollen Schlange wartet etwa ${values.seconds} s`,
    `Setzen Sie es auf ${values.fitting} oder weniger: Ein Client, der 503 bekommt, versucht es noch einmal.`,
  ],
  'workers-many': values => [
    `CARREL_WORKERS ist ${values.workers}, auf einer Maschine mit ${processors(values.processors)}: Mehr Threads kosten nur Arbeitsspeicher`,
    'Setzen Sie CARREL_WORKERS=automatic, oder lassen Sie es weg.',
  ],
  'cache-large': ({ cacheBytes }) => [
    `CARREL_CACHE_SIZE ist ${Math.round(cacheBytes / mebibyte)} MB, mehr als die Hälfte des Arbeitsspeichers`,
    'Setzen Sie es auf ein Viertel des Arbeitsspeichers oder weniger.',
  ],
  'load-right': values =>
    `Threads, Schlangen und Zwischenspeicher passen zu ${processors(values.processors)}`,
  'sign-on-base-url-plain': ({ baseUrl }) => [
    `CARREL_BASE_URL ist ${baseUrl}: Passwörter und Token, die über http gehen, lassen sich im Netz mitlesen`,
    signOnAdvice,
  ],
  'sign-on-origins-none': () => [
    'CARREL_ALLOWED_ORIGINS ist leer: Nach einer Anmeldung können Browser nur zum Dienst selbst zurückkehren',
    signOnAdvice,
  ],
  'sign-on-origin-cross-site-plain': ({ origin, baseUrl }) => [
    `${origin} ist eine andere Site als ${baseUrl}, und über http senden Browser die Cookies der Anmeldung nicht an andere Sites: Benutzen Sie https oder denselben Hostnamen`,
    signOnAdvice,
  ],
  'sign-on-origin-plain': ({ origin }) => [
    `${origin} in CARREL_ALLOWED_ORIGINS ist http: Token, die dorthin gehen, lassen sich im Netz mitlesen`,
    signOnAdvice,
  ],
}

/** The words for findings of the service by language and code. A finding without any is said in English. */
export const findings: Readonly<Record<string, Words>> = { de: german }

type Finding = Schemas['Finding']

/** Says a finding in a language. @returns undefined if it has no words for it */
export function saidIn(
  language: string,
  { code, values, advice }: Pick<Finding, 'code' | 'values' | 'advice'>,
): Pick<Finding, 'what' | 'advice'> | undefined {
  const words = findings[language]?.[code as keyof Words] as ((of: Finding['values']) => Said) | undefined
  if (!words) return undefined
  const said = words(values)
  const [what, ours] = typeof said === 'string' ? [said] : said
  // The service leaves the advice out where there is nothing to do.
  return { what, advice: advice ? (ours ?? advice) : null }
}
