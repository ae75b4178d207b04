import { AwsClient } from 'aws4fetch';
import { Client } from 'minio';
import { MongoClient, MongoServerError, type Db } from 'mongodb';
import pg from 'pg';

const ANSWER_LIMIT_MS = 2_000;
const NOT_YET_INITIALIZED = 94;

export interface S3Keys {
  readonly accessKey: string;
  readonly secretKey: string;
}

/** Whether the server accepts writes. A given replica set is initiated first, or gets its member's new address. */
export async function isMongoReady(
  url: string,
  set: { readonly replicaSet: string; readonly member: string } | null,
): Promise<boolean> {
  const client = new MongoClient(url, {
    serverSelectionTimeoutMS: ANSWER_LIMIT_MS,
    connectTimeoutMS: ANSWER_LIMIT_MS,
    socketTimeoutMS: ANSWER_LIMIT_MS,
    waitQueueTimeoutMS: ANSWER_LIMIT_MS,
  });
  try {
    const admin = client.db('admin');
    if (set) await formReplicaSet(admin, set.replicaSet, set.member);
    return (await admin.command({ hello: 1 }))['isWritablePrimary'] === true;
  } finally {
    await client.close();
  }
}

async function formReplicaSet(admin: Db, replicaSet: string, member: string): Promise<void> {
  const members = [{ _id: 0, host: member }];
  try {
    const { config } = await admin.command({ replSetGetConfig: 1 });
    // Its data may have been made under another port.
    if (config.members[0].host !== member)
      await admin.command({ replSetReconfig: { ...config, version: config.version + 1, members }, force: true });
  } catch (error) {
    if (!(error instanceof MongoServerError) || error.code !== NOT_YET_INITIALIZED) throw error;
    await admin.command({ replSetInitiate: { _id: replicaSet, members } });
  }
}

/**
 * Whether the server at this URL lists buckets for these keys: then it is the one that was meant, and its store is
 * open.
 */
export async function isS3Ready(url: string, region: string, { accessKey, secretKey }: S3Keys): Promise<boolean> {
  const client = new AwsClient({
    accessKeyId: accessKey,
    secretAccessKey: secretKey,
    service: 's3',
    region,
    retries: 0,
  });
  const response = await client.fetch(`${url}/`, { signal: AbortSignal.timeout(ANSWER_LIMIT_MS) });
  const text = await response.text();
  if (!response.ok) throw new Error(`it answers ${response.status} to a listing of buckets: ${text.slice(0, 300)}`);
  return true;
}

export function s3Client({
  endpoint,
  region,
  ...keys
}: S3Keys & { readonly endpoint: string; readonly region: string }): Client {
  const { hostname, port, protocol } = new URL(endpoint);
  const useSSL = protocol === 'https:';
  return new Client({
    endPoint: hostname,
    port: port === '' ? (useSSL ? 443 : 80) : Number(port),
    useSSL,
    region,
    pathStyle: true,
    accessKey: keys.accessKey,
    secretKey: keys.secretKey,
  });
}

export async function isToxiproxyReady(url: string): Promise<boolean> {
  return (await fetch(`${url}/version`, { signal: AbortSignal.timeout(ANSWER_LIMIT_MS) })).ok;
}

/** Whether stable-diffusion.cpp serves, with a model that makes pictures. */
export async function isSdServerReady(url: string): Promise<boolean> {
  const response = await fetch(`${url}/sdcpp/v1/capabilities`, { signal: AbortSignal.timeout(ANSWER_LIMIT_MS) });
  if (!response.ok) throw new Error(`it answers ${response.status} to a question for its capabilities`);
  const { supported_modes: modes } = (await response.json()) as { readonly supported_modes?: unknown };
  return Array.isArray(modes) && modes.includes('img_gen');
}

/** Whether nginx serves, whatever it has behind it. */
export async function isNginxReady(url: string): Promise<boolean> {
  const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_LIMIT_MS) });
  return (response.headers.get('server') ?? '').startsWith('nginx');
}

/** Whether a container of Cog has set up its model. */
export async function isCogReady(url: string): Promise<boolean> {
  const response = await fetch(`${url}/health-check`, { signal: AbortSignal.timeout(ANSWER_LIMIT_MS) });
  const { status } = (await response.json()) as { readonly status?: unknown };
  if (status === 'SETUP_FAILED') throw new Error('the setup of its model has failed');
  return status === 'READY';
}

/** Whether PostgreSQL, or a pooler in front of it, answers. */
export async function isPostgresReady(url: string, question = 'SELECT 1'): Promise<boolean> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: ANSWER_LIMIT_MS,
    query_timeout: ANSWER_LIMIT_MS,
  });
  // An error of the connection after the answer does not matter.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query(question);
    return true;
  } finally {
    await client.end();
  }
}
