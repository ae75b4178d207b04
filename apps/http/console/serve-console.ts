import { readdir, readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Context } from '../../../core/context.js';
import { ServiceError, StoreUnavailable } from '../../../core/errors.js';
import { type BodySchema, readBody as checkBody } from '../../../core/fields.js';
import { RateLimit } from '../../rate-limit.js';
import { readBody } from '../host/read-body.js';
import type { HttpHandler, HttpRoute } from '../host/server.js';
import { sendAnswer, sendStream, type StreamedAnswer } from '../host/send.js';
import { requireSameOrigin, withoutChallenge } from '../pages/page.js';
import type { ConsoleOperation, ConsoleParts } from './console-operation.js';

const MAX_BODY_BYTES = 16 * 1024;
const EMPTY: BodySchema = { type: 'object', additionalProperties: false, properties: {} };
const PER_MINUTE = { GET: 300, POST: 60 } as const;

/** What one person may ask of this process in a minute: reads, and changes. */
export type ConsoleRates = Readonly<Record<ConsoleOperation['method'], RateLimit>>;

export function createConsoleRates(): ConsoleRates {
  return { GET: new RateLimit(PER_MINUTE.GET), POST: new RateLimit(PER_MINUTE.POST) };
}

/**
 * The checks of a request of the page, in order, and then its operation. The session is looked up last, so that it has
 * not ended while the body arrived. A credential of the API counts for nothing here.
 */
export function serveConsole(operation: ConsoleOperation, parts: ConsoleParts, rates: ConsoleRates): HttpHandler {
  const { method, body: taken = { schema: EMPTY } } = operation;
  return async (ctx) => {
    const { req, state } = ctx;
    state.renderError = withoutChallenge;
    if (method === 'POST') requireSameOrigin(ctx, parts.publicUrl());
    const sent =
      method === 'POST'
        ? await readBody(req, { required: true, maxBytes: MAX_BODY_BYTES, timeoutMs: parts.bodyTimeoutMs })
        : {};
    const signedIn = await parts.sessions.require(ctx);
    const { accountId, personId } = signedIn.person;
    state.caller = { accountId, credentialId: personId };
    await takeOf(rates[method], personId);
    operation.admit?.(parts, signedIn);
    const body = checkBody<object>(parts.context, taken.schema, sent, taken.wording);
    const answer = await operation.answer(parts, { ctx, signedIn, body });
    // Changes have a line in the log.
    state.hasCreated = method === 'POST';
    await (isStreamed(answer) ? sendStream(ctx, answer) : sendAnswer(ctx, 200, { data: answer }));
  };
}

function isStreamed(answer: object): answer is StreamedAnswer {
  return 'stream' in answer && typeof answer.stream === 'function';
}

async function takeOf(limit: RateLimit, personId: string): Promise<void> {
  const { isOver, resetMs } = await limit.take(personId);
  if (isOver)
    throw new ServiceError('RATE_LIMITED', 'These were too many requests; wait a moment and try again.', {
      retryAfterMs: resetMs,
    });
}

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};

/** Where the build puts the page. */
const FOLDER = fileURLToPath(new URL('../../../web/', import.meta.url));

interface Files {
  readonly page: string;
  /** By their names, which have a hash of their content in them. */
  readonly assets: ReadonlyMap<string, Buffer>;
}

/** The files of the built page, read when they are first asked for and kept. A failed read is tried again. */
export class PageFiles {
  private files: Promise<Files> | undefined;

  /** The page itself, as HTML. */
  async page(): Promise<string> {
    return (await this.read()).page;
  }

  /** Scripts and styles of the page: they never change under their name. */
  readonly assetRoute: HttpRoute = {
    method: 'GET',
    path: '/assets/:file',
    serve: async (ctx) => {
      const file = ctx.params['file'] ?? '';
      const bytes = (await this.read()).assets.get(file);
      const mediaType = MEDIA_TYPES[extname(file)];
      if (bytes === undefined || mediaType === undefined) throw new ServiceError('ROUTE_NOT_FOUND');
      ctx.set({ 'Content-Type': mediaType, 'Cache-Control': 'public, max-age=31536000, immutable' });
      ctx.body = bytes;
    },
  };

  private read(): Promise<Files> {
    this.files ??= readFiles().catch((error: unknown) => {
      this.files = undefined;
      throw error;
    });
    return this.files;
  }
}

async function readFiles(): Promise<Files> {
  const page = await readFile(`${FOLDER}index.html`, 'utf8');
  const names = await readdir(`${FOLDER}assets`);
  const assets = await Promise.all(
    names.map(async (name) => [name, await readFile(`${FOLDER}assets/${name}`)] as const),
  );
  return { page, assets: new Map(assets) };
}

const LIFE_MS = 60_000;

/**
 * The origin of signed addresses, which the page may load pictures from and send files to. Undefined where it is that of
 * the page itself, and while the object store has not been reached.
 */
export async function objectsOrigin(
  { objects, clock }: Pick<Context, 'objects' | 'clock'>,
  ownUrl: string,
): Promise<string | undefined> {
  try {
    const { url } = await objects.signGet({
      key: 'console/origin',
      mediaType: 'image/png',
      filename: 'origin.png',
      expiresAt: clock.now() + LIFE_MS,
    });
    const { origin } = new URL(url);
    return /^https?:\/\//.test(origin) && origin !== new URL(ownUrl).origin ? origin : undefined;
  } catch (error) {
    if (error instanceof StoreUnavailable) return undefined;
    throw error;
  }
}
