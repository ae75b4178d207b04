import { AgendaRefused, type OpenWakeUpStore, type WakeUpDatabase, type WakeUpStoreOptions } from '../wake-up-store.js';
import { Notifications } from './notifications.js';
import { type LentPostgres, TABLE, WakeUpRows } from './wake-up-rows.js';

/** Wake-ups in PostgreSQL, announced by its notifications. */
export class PostgresWakeUps implements WakeUpDatabase {
  readonly name = 'PostgreSQL';

  constructor(private readonly lent: LentPostgres) {}

  async migrate(): Promise<readonly string[]> {
    const missing = await this.lacking();
    if (missing.length > 0) await this.lent.ask(CREATE);
    return missing.map((thing) => `Made the ${thing}.`);
  }

  async missing(): Promise<readonly string[]> {
    return (await this.lacking()).map((thing) => `The ${thing} is missing.`);
  }

  async open({ clock, holdMs, wokenBy }: WakeUpStoreOptions): Promise<OpenWakeUpStore> {
    if (wokenBy === 'change-streams') {
      throw new AgendaRefused(
        'PostgreSQL has no change streams; set agenda.woken_by to auto, notifications or polling.',
      );
    }
    if (wokenBy === 'polling') return { store: new WakeUpRows(this.lent, clock, holdMs, untold) };
    const announcements = new Notifications(this.lent, clock);
    return { store: new WakeUpRows(this.lent, clock, holdMs, (at) => announcements.announce(at)), announcements };
  }

  private async lacking(): Promise<readonly string[]> {
    const { rows } = await this.lent.ask(FOUND);
    const { columns, index } = rows[0] as unknown as Found;
    if (columns.length === 0) return [`table ${TABLE}`];
    const others = COLUMNS.filter((column) => !columns.includes(column));
    if (others.length > 0) {
      throw new AgendaRefused(
        `The table ${TABLE} lacks ${others.join(' and ')}, which this version needs; rename it, and run \`darkroom migrate\` again.`,
      );
    }
    return index ? [] : [`index ${INDEX} of ${TABLE}`];
  }
}

interface Found {
  /** Each with its type; none if there is no table. */
  readonly columns: readonly string[];
  readonly index: boolean;
}

const INDEX = 'agenda_wake_ups_due';
const COLUMNS = ['subject text', 'at bigint', 'stamp uuid', 'fail_count integer'];

const FOUND = `SELECT
  ARRAY(SELECT attname || ' ' || format_type(atttypid, atttypmod) FROM pg_attribute
    WHERE attrelid = to_regclass('${TABLE}') AND attnum > 0 AND NOT attisdropped) AS columns,
  EXISTS(SELECT FROM pg_index
    WHERE indexrelid = to_regclass('darkroom.${INDEX}') AND indrelid = to_regclass('${TABLE}') AND indisvalid) AS index`;

/**
 * One statement, so one transaction. The lock lets one process at a time do it. A row lives for a moment only, and each
 * change of its time adds an entry to an index: dead rows are removed early and at full speed.
 */
const CREATE = `DO $$ BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('${TABLE}', 0));
  CREATE SCHEMA IF NOT EXISTS darkroom;
  CREATE TABLE IF NOT EXISTS ${TABLE} (
    subject text COLLATE "C" PRIMARY KEY,
    at bigint NOT NULL,
    stamp uuid NOT NULL,
    fail_count integer NOT NULL
  ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
  CREATE INDEX IF NOT EXISTS ${INDEX} ON ${TABLE} (at, subject);
END $$`;

async function untold(): Promise<void> {}
