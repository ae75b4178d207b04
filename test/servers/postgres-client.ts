import pg from 'pg';

export type Rows = readonly Readonly<Record<string, unknown>>[];

/** Runs `use` with its own connection, and closes the connection afterwards. */
export async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  // A lost connection fails the statement in progress; without a listener it would also end the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

/** Runs one statement on its own connection, and returns the rows. */
export function queryOnce(url: string, sql: string, values: readonly unknown[] = []): Promise<Rows> {
  return withClient(url, async (client) => (await client.query<Record<string, unknown>>(sql, [...values])).rows);
}
