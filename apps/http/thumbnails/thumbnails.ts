import { timingSafeEqual } from 'node:crypto';
import type { Call, Files, Machine, Work } from '../../../core/context.js';
import { ServiceError } from '../../../core/errors.js';
import { THUMBNAIL_SIDES_PX } from '../../../core/generation/generation.js';
import {
  findThumbnail,
  type NoThumbnail,
  readThumbnail,
  thumbnailSignature,
} from '../../../core/generation/thumbnails.js';
import type { ErrorRenderer } from '../host/http-context.js';
import { hasCurrent } from '../host/request.js';
import { sendText, streamBody } from '../host/send.js';
import { createRouter, type HttpFront, type RoutedContext } from '../host/server.js';
import { Disconnect } from '../host/wait.js';

interface ThumbnailParts {
  readonly context: Work & Files & Machine & Call;
}

/**
 * Serves `/thumbnails/…`: small pictures of outputs, at signed addresses that work without a credential. An address costs a
 * digest until its signature is known to be right. Then it costs a record and a small object; the picture is decoded at the
 * first request of each size.
 */
export function thumbnails(parts: ThumbnailParts): HttpFront {
  return () => [
    createRouter(
      [
        {
          method: 'GET',
          path: '/thumbnails/:generation_id/:media_id/:size',
          serve: (ctx) => serveThumbnail(ctx, parts),
        },
      ],
      '',
      asText,
    ),
  ];
}

async function serveThumbnail(ctx: RoutedContext, { context: shared }: ThumbnailParts): Promise<void> {
  const { generation_id: generationId = '', media_id: mediaId = '', size = '' } = ctx.params;
  const query = new URLSearchParams(ctx.state.target.query);
  const expires = query.get('expires') ?? '';
  const signature = thumbnailSignature(shared, { generationId, mediaId, expires });
  if (!areEqual(signature, query.get('signature') ?? '')) return refuse(ctx, 403, NOT_SIGNED);
  const leftMs = Number(expires) - shared.clock.now();
  if (!(leftMs > 0)) return refuse(ctx, 403, 'The signed address has expired; request a new one.');
  ctx.state.ids = { generationId };
  const sidePx = THUMBNAIL_SIDES_PX.find((one) => String(one) === size);
  if (sidePx === undefined) throw new ServiceError('NOT_FOUND', `A thumbnail has the size ${SIZES}.`);
  const context = { ...shared, call: new Disconnect(ctx.res) };
  const found = await findThumbnail(context, { generationId, mediaId, sidePx });
  if (found === undefined) throw new ServiceError('NOT_FOUND', REFUSALS.gone);
  const etag = `"${mediaId}-${sidePx}"`;
  const headers = {
    ...HEADERS,
    'Cache-Control': `private, max-age=${Math.floor(leftMs / 1_000)}, immutable`,
    'ETag': etag,
  };
  if (hasCurrent(ctx.req, etag)) return streamBody(ctx, { status: 304, headers });
  const bytes = await readThumbnail(context, found);
  if (typeof bytes === 'string') throw new ServiceError('NOT_FOUND', REFUSALS[bytes]);
  const described = { ...headers, 'Content-Type': 'image/webp', 'Content-Length': String(bytes.byteLength) };
  return streamBody(ctx, { status: 200, headers: described, body: ctx.method === 'HEAD' ? undefined : bytes });
}

function areEqual(signature: string, sent: string): boolean {
  const [expected, given] = [Buffer.from(signature), Buffer.from(sent)];
  return given.byteLength === expected.byteLength && timingSafeEqual(given, expected);
}

const NOT_SIGNED = 'The address is not one that was signed; use it exactly as it was answered.';
const SIZES = THUMBNAIL_SIDES_PX.join(', ');

const REFUSALS: Readonly<Record<NoThumbnail, string>> = {
  'gone': 'The output was deleted or is no longer kept.',
  'too-large': 'The output has no thumbnail: decoding it takes too much memory or time.',
  'unreadable': 'The output has no thumbnail: its file cannot be decoded.',
};

/** Pages of any origin may use the address, and nothing that is served may run in a browser. */
const HEADERS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'Content-Length, ETag',
  'Content-Security-Policy': "default-src 'none'; sandbox",
  'Content-Disposition': 'inline; filename="thumbnail.webp"',
  'Cross-Origin-Resource-Policy': 'cross-origin',
} as const;

const TEXT_TYPE = 'text/plain; charset=utf-8';

function refuse(ctx: RoutedContext, status: number, sentence: string): Promise<void> {
  return sendText(ctx, status, { mediaType: TEXT_TYPE, text: `${sentence}\n` });
}

/** A refusal is read by people who open the address. */
const asText: ErrorRenderer = ({ message }) => ({ mediaType: TEXT_TYPE, text: `${message}\n` });
