import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Client } from '../support/clients/client.ts'
import { list } from '../support/clients/listings.ts'
import { ndjson } from '../support/data/imports.ts'
import { isLong } from '../support/scale.ts'
import { runSql } from '../support/service/databases.ts'
import {
  type Command,
  type FragilePostgres,
  fill,
  fragilePostgres,
  letters,
  startCommand,
  withClient,
} from '../support/service/faults.ts'
import { serve, withoutProgress } from '../support/service/process.ts'
import { temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

const oldRecords = letters(500, 'old')
const newRecords = letters(20_000, 'new')

/** Stages at which an import can be held up, each with the number of an advisory lock. */
const stages = {
  'in the middle of COPY': 1,
  'with the orders half written': 2,
  'while the entity is replaced': 3,
}

/** Triggers that wait for the lock of a stage, on existing tables and on the one that the import creates. */
const holdUps = `
  CREATE FUNCTION hold_up() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_advisory_xact_lock_shared(TG_ARGV[0]::int); RETURN NEW; END $$;
  CREATE FUNCTION hold_up_records() RETURNS event_trigger LANGUAGE plpgsql AS $$
    DECLARE made record;
    BEGIN
      FOR made IN SELECT * FROM pg_event_trigger_ddl_commands() WHERE object_identity LIKE 'carrel."records.%' LOOP
        EXECUTE format('CREATE TRIGGER hold_up BEFORE INSERT ON %s FOR EACH ROW WHEN (NEW.n = ${newRecords.length / 2})
          EXECUTE FUNCTION public.hold_up(${stages['in the middle of COPY']})', made.object_identity);
      END LOOP;
    END $$;
  CREATE EVENT TRIGGER hold_up_records ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION hold_up_records();
  CREATE TRIGGER hold_up BEFORE INSERT ON carrel.rank FOR EACH ROW WHEN (NEW.field = 1)
    EXECUTE FUNCTION hold_up(${stages['with the orders half written']});
  CREATE TRIGGER hold_up BEFORE INSERT OR UPDATE ON carrel.entity FOR EACH ROW
    EXECUTE FUNCTION hold_up(${stages['while the entity is replaced']});
`

const tablesOfNobody = `
  SELECT table_name FROM information_schema.tables WHERE table_schema = 'carrel' AND table_name LIKE 'records.%'
    AND substr(table_name, length('records.') + 1) NOT IN (
      SELECT version FROM carrel.entity WHERE version IS NOT NULL UNION SELECT version FROM carrel.retired
      UNION SELECT version FROM carrel.kept_version UNION SELECT version FROM carrel.held_version)`
const ranksOfNobody = `
  SELECT DISTINCT version FROM carrel.rank WHERE version NOT IN (
    SELECT version FROM carrel.entity WHERE version IS NOT NULL UNION SELECT version FROM carrel.retired
      UNION SELECT version FROM carrel.kept_version UNION SELECT version FROM carrel.held_version)`
const locks = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory'"
const waiting = `${locks} AND NOT granted`
const imports = "SELECT 1 FROM carrel.event WHERE event = 'entity.import'"

const breakings = {
  'PostgreSQL is killed': async (postgres: FragilePostgres) => {
    await postgres.kill()
    await postgres.start()
  },
  'it is killed itself': async (_: FragilePostgres, command: Command) => {
    command.kill()
    assert.equal((await command.ended).signal, 'SIGKILL')
  },
}

test('D2 an import that is broken off changes nothing and leaves nothing in the database', async t => {
  const postgres = await fragilePostgres(t)
  const { url } = postgres
  const folder = temporaryFolder(t)
  const file = join(folder, 'letters.ndjson')
  writeFileSync(file, ndjson(newRecords))
  const env = { CARREL_DATABASE_URL: url, CARREL_DATA: folder }
  const importLetters = (scratch: string) =>
    startCommand(t, ['import', file, '--entity', 'letters', '--key', 'id', '--read', 'anonymous'], {
      ...env,
      TMPDIR: scratch,
    })
  await fill(t, env, { letters: oldRecords })
  await runSql(url, holdUps)
  const client = new Client((await serve(t, folder, { env })).address)
  const assertOld = async () => assert.deepEqual(await list(client, 'letters'), oldRecords)

  // In CI, one kind of break is tried at the first stage, and the other at the last.
  for (const [number, [how, breakOff]] of Object.entries(breakings).entries())
    for (const [stage, lock] of Object.entries(stages).filter((_, at) => isLong || at === number * 2))
      await t.test(`${how} ${stage}`, async during => {
        const scratch = temporaryFolder(during)
        const command = await withClient(url, async holder => {
          await holder.query('SELECT pg_advisory_lock($1)', [lock])
          const held = importLetters(scratch)
          await Promise.race([
            until(
              'an import that waits for the lock',
              async () => (await holder.query(waiting)).rows,
              rows => rows.length === 1,
            ),
            // The import must not end before.
            held.ended.then(({ stderr }) => assert.fail(stderr)),
          ])
          await assertOld()
          await breakOff(postgres, held)
          return held
        })
        const { code, signal, stdout, stderr } = await command.ended
        if (signal === null) {
          assert.match(withoutProgress(stderr), /^carrel: PostgreSQL.*\n$/)
          assert.equal(stdout, '')
          assert.equal(code, 1)
          assert.deepEqual(readdirSync(scratch), [], 'nothing is left in the folder for temporary files')
        }
        // The server may have to recover first, and to notice that the connection is gone.
        await until(
          'a service that is ready',
          async () => (await client.get('/health/ready')).status,
          status => status === 200,
        )
        await until(
          'the end of all advisory locks',
          () => runSql(url, locks),
          rows => rows.length === 0,
        )
        await assertOld()
        assert.deepEqual(await runSql(url, tablesOfNobody), [])
        assert.deepEqual(await runSql(url, ranksOfNobody), [])
        assert.equal((await runSql(url, imports)).length, 1, 'the trail has only the import that succeeded')
      })

  const { code, stderr } = await importLetters(folder).ended
  assert.equal(code, 0, stderr)
  assert.deepEqual(await list(client, 'letters'), newRecords)
  assert.deepEqual(await runSql(url, tablesOfNobody), [])
})
