import { Dicer } from '@fastify/busboy';
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { UnnamedFile } from '../../../adapters/unnamed-file.js';
import { ServiceError } from '../../../core/errors.js';
import type { ProbedFile } from '../../../core/ports/media.js';
import { pointsOf } from '../../rate-limit.js';
import { readAdmittedBody } from '../host/authenticate.js';
import { MAX_BODY_BYTES, MAX_BODY_PIECES } from '../host/http-context.js';
import { bodyTooLarge, brokenOff, declaredBytes, isForm } from '../host/request.js';
import { ApiRefusal } from './errors.js';
import type { Fields } from './fields.js';
import type { ApiRequest } from './operation.js';
import { refuseFullDisk, type Spool } from './spool.js';

/** A file that an endpoint takes. */
export interface FileRule {
  /** The names that clients give to the part. */
  readonly names: readonly string[];
  /** How many of them a form may have. */
  readonly most: number;
  readonly maxBytes: number;
}

/** The files that an endpoint takes, by the name of their field in refusals. A part with such a name is always a file. */
export type FileRules = Readonly<Record<string, FileRule>>;

/** A file on disk until its form is closed. */
export interface FormFile extends ProbedFile {
  /** The name of its rule. */
  readonly param: string;
  /** Lower-case hex. */
  readonly sha256: string;
}

export interface Form {
  /** Texts, each name once; those whose name ends with `[]` as a list. */
  readonly fields: Fields;
  /** In the order of the form. */
  readonly files: readonly FormFile[];
  /**
   * Counts further bytes on disk, until the form is closed; where they are more than the whole room, all of it. Throws
   * SERVICE_UNAVAILABLE while other forms have it.
   */
  reserve(byteSize: number): void;
  /** Frees the disk. Never throws. */
  close(): Promise<void>;
}

/**
 * Reads a form of an admitted request. Its files wait on disk and must be closed; its texts are bounded as a JSON body is.
 * The size is refused as soon as it is known, by the head where that says so, and a body that arrives slowly times out. Throws,
 * before the body is read, MEDIA_TYPE_UNSUPPORTED, BODY_TOO_LARGE and SERVICE_UNAVAILABLE, and while it is read
 * REQUEST_TIMEOUT, BODY_TOO_LARGE, UPLOAD_FILE_TOO_LARGE, BODY_INVALID, `unknown_parameter` for a file that is not taken, and
 * FIELD_INVALID for a name that is sent too often and for a text that is not UTF-8.
 */
export async function readForm(ctx: ApiRequest, rules: FileRules): Promise<Form> {
  const { parts, admission } = ctx.state;
  const boundary = readBoundary(ctx.req);
  const largest = Object.values(rules).reduce((sum, { most, maxBytes }) => sum + most * maxBytes, LARGEST_TEXTS);
  const maxBytes = Math.min(largest, parts.spool.maxBytes);
  const declared = declaredBytes(ctx.req);
  if (declared !== undefined && declared > maxBytes) throw bodyTooLarge(maxBytes);
  const form = new SpooledForm(
    { spool: parts.spool, accountId: admission.caller.accountId },
    rules,
    declared ?? maxBytes,
  );
  try {
    await readAdmittedBody(ctx, admission, () => receive(ctx, form, { boundary, maxBytes }));
    // The size of files does not count against the rate of requests, as with uploads.
    const { rules: rates, caller } = admission;
    await rates.rateLimit?.take(caller.credentialId, ctx.res, pointsOf(form.textBytes), pointsOf(0));
    form.shrink();
    return form;
  } catch (error) {
    await form.close();
    throw error;
  }
}

const MAX_PARTS = 100;
/** Of the headers of one part. */
const MAX_HEADER_BYTES = 4 * 1024;
const MAX_HEADER_PAIRS = 16;
/** What a form may have beside its files. */
const LARGEST_TEXTS = MAX_BODY_BYTES + MAX_PARTS * MAX_HEADER_BYTES;

/** RFC 2046 allows 70 characters. */
const BOUNDARY = /;[ \t]*boundary[ \t]*=[ \t]*(?:"([^"\r\n]{1,70})"|([^\s;"]{1,70}))/i;

function readBoundary(req: IncomingMessage): string {
  const { 'content-encoding': encoding = 'identity', 'content-type': type = '' } = req.headers;
  if (encoding.toLowerCase() !== 'identity')
    throw new ServiceError('MEDIA_TYPE_UNSUPPORTED', 'Send the body without Content-Encoding.');
  const [, quoted, plain] = BOUNDARY.exec(type) ?? [];
  const boundary = quoted ?? plain;
  if (!isForm(req) || boundary === undefined)
    throw new ServiceError('MEDIA_TYPE_UNSUPPORTED', 'Send the body as multipart/form-data, with its boundary.');
  return boundary;
}

/** A body must arrive at this rate on average, from the time that any body may take: 16 KB per second. */
const MIN_BYTES_PER_MS = 16;
/** How often that is checked. */
const CHECK_MS = 250;
/** How few bytes a piece may have on average, beyond the number of pieces that any body may have. */
const MIN_PIECE_BYTES = 512;

/**
 * Resolves when the whole body is in the form. The parser gets one piece at a time, so that it is not ahead of the disk and
 * all that it throws is caught here.
 */
function receive(
  ctx: ApiRequest,
  form: SpooledForm,
  { boundary, maxBytes }: { readonly boundary: string; readonly maxBytes: number },
): Promise<void> {
  const { req } = ctx;
  const { bodyTimeoutMs, requestTimeoutMs } = ctx.state.parts;
  // The client may have left while its credential was looked up.
  if (req.destroyed) return Promise.reject(brokenOff());
  // The types of the package lack one of the bounds.
  const bounds = { boundary, maxHeaderPairs: MAX_HEADER_PAIRS, maxHeaderSize: MAX_HEADER_BYTES };
  return new Promise((resolve, reject) => {
    const parser = new Dicer(bounds);
    const startedAt = performance.now();
    const received = { bytes: 0, pieces: 0 };
    let isOver = false;
    const settle = (error?: unknown): void => {
      if (isOver) return;
      isOver = true;
      clearInterval(timer);
      req.off('data', take).off('end', end).off('error', breakOff).off('close', breakOff);
      if (error === undefined) return resolve();
      req.on('error', ignore).pause();
      reject(error);
    };
    const take = (piece: Buffer): void => {
      received.bytes += piece.byteLength;
      received.pieces += 1;
      if (received.bytes > maxBytes) return settle(bodyTooLarge(maxBytes));
      if (received.pieces > MAX_BODY_PIECES + received.bytes / MIN_PIECE_BYTES)
        return settle(invalid('The request body must arrive in larger pieces.'));
      req.pause();
      try {
        parser.write(piece, () => {
          if (!isOver) req.resume();
        });
      } catch {
        settle(notAForm());
      }
    };
    const check = (): void => {
      const elapsedMs = performance.now() - startedAt;
      if (elapsedMs > requestTimeoutMs || elapsedMs - bodyTimeoutMs > received.bytes / MIN_BYTES_PER_MS)
        settle(new ServiceError('REQUEST_TIMEOUT', 'The request body arrives too slowly.'));
    };
    const breakOff = (): void => settle(brokenOff());
    const end = (): void => {
      // From now on the parser says whether the body was whole.
      req.off('close', breakOff);
      parser.end();
    };
    const timer = setInterval(check, Math.min(CHECK_MS, bodyTimeoutMs));
    parser
      .on('part', (part) => form.take(part, settle))
      .on('error', () => settle(notAForm()))
      .on('finish', () => void form.finish().then(() => settle(), settle));
    req.on('data', take).on('end', end).on('error', breakOff).on('close', breakOff);
  });
}

function ignore(): void {
  // The client is gone, and the answer with it.
}

function invalid(message: string): ServiceError {
  return new ServiceError('BODY_INVALID', message);
}

function notAForm(): ServiceError {
  return invalid('The request body must be a whole multipart form with the boundary of its header.');
}

type Part = Dicer.PartStream;

class SpooledForm implements Form {
  readonly fields: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>;
  files: FormFile[] = [];
  textBytes = 0;
  private readonly onDisk: UnnamedFile[] = [];
  private readonly counts = new Map<string, number>();
  private readonly reading: Promise<void>[] = [];
  private parts = 0;
  private headers = 0;
  private isClosed = false;

  constructor(
    private readonly owner: { readonly spool: Spool; readonly accountId: string },
    private readonly rules: FileRules,
    private reserved: number,
  ) {
    owner.spool.reserve(owner.accountId, reserved);
  }

  reserve(byteSize: number): void {
    const { spool, accountId } = this.owner;
    const counted = Math.min(byteSize, spool.maxBytes - this.reserved);
    spool.reserve(accountId, counted, this.reserved);
    this.reserved += counted;
  }

  /** Once the body is there, only what is on disk counts. */
  shrink(): void {
    const stored = this.files.reduce((sum, { byteSize }) => sum + byteSize, 0);
    this.owner.spool.release(this.owner.accountId, this.reserved - stored);
    this.reserved = stored;
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    await Promise.allSettled(this.onDisk.map((file) => file.close()));
    this.owner.spool.release(this.owner.accountId, this.reserved);
  }

  /** Begins to read a part. `fail` receives the first thing that is wrong with it. */
  take(part: Part, fail: (error: unknown) => void): void {
    // The parser reports it too.
    part.on('error', ignore);
    this.parts += 1;
    if (this.parts > MAX_PARTS) return fail(invalid(`The form must have at most ${MAX_PARTS} parts.`));
    part.once('header', (header) => {
      this.headers += 1;
      const read = this.read(part, header as PartHeader);
      this.reading.push(read);
      read.catch(fail);
    });
  }

  /** Resolves when all parts have been read. Rejects as they do, and for a part whose header has no end. */
  async finish(): Promise<void> {
    if (this.headers < this.parts) throw notAForm();
    await Promise.all(this.reading);
    this.files = this.files.filter((file) => file !== ABSENT);
  }

  private async read(part: Part, header: PartHeader): Promise<void> {
    const { name, filename } = readHeader(header);
    const isFile = filename !== undefined;
    const rule = Object.entries(this.rules).find(([, { names }]) => names.includes(name));
    if (rule === undefined && isFile) {
      const taken = Object.values(this.rules).flatMap(({ names }) => names);
      const message = `Unknown file: ${JSON.stringify(name.slice(0, 100))}. The files of this request are ${taken.join(', ')}.`;
      throw new ApiRefusal('FIELD_INVALID', message, name.slice(0, 100), 'unknown_parameter');
    }
    await (rule === undefined ? this.readText(part, name) : this.readFile(part, rule, filename));
  }

  private async readText(part: Part, name: string): Promise<void> {
    const isEntry = name.endsWith('[]');
    const count = this.counts.get(name) ?? 0;
    if (count > 0 && !isEntry) throw new ApiRefusal('FIELD_INVALID', `${name} must be sent once.`, name);
    this.counts.set(name, count + 1);
    this.textBytes += name.length;
    const pieces: Buffer[] = [];
    for await (const piece of part as AsyncIterable<Buffer>) {
      this.textBytes += piece.byteLength;
      if (this.textBytes > MAX_BODY_BYTES)
        throw new ServiceError('BODY_TOO_LARGE', `The texts of the form must have at most ${MAX_BODY_BYTES} bytes.`);
      pieces.push(piece);
    }
    try {
      const text = UTF8.decode(Buffer.concat(pieces));
      if (!isEntry) this.fields[name] = text;
      else ((this.fields[name] ??= []) as string[])[count] = text;
    } catch {
      throw new ApiRefusal('FIELD_INVALID', `${name} must be UTF-8.`, name);
    }
  }

  private async readFile(
    part: Part,
    [param, { most, maxBytes }]: readonly [string, FileRule],
    filename: string | undefined,
  ): Promise<void> {
    const count = (this.counts.get(param) ?? 0) + 1;
    this.counts.set(param, count);
    if (count > most) {
      const message = most === 1 ? `${param} must be sent once.` : `${param} must be at most ${most} files.`;
      throw new ApiRefusal('FIELD_INVALID', message, param);
    }
    // Files are read at the same time as the next part begins: the place is taken now.
    const at = this.files.push(ABSENT) - 1;
    const file = await this.open();
    const hash = createHash('sha256');
    for await (const piece of part as AsyncIterable<Buffer>) {
      if (file.byteSize + piece.byteLength > maxBytes)
        throw new ApiRefusal('UPLOAD_FILE_TOO_LARGE', `A file may have at most ${maxBytes} bytes.`, param);
      hash.update(piece);
      await file.append(piece).catch(refuseFullDisk);
    }
    const { byteSize } = file;
    // A browser sends this for a file that nobody chose.
    if (byteSize === 0 && filename === '') return;
    this.files[at] = {
      param,
      byteSize,
      sha256: hash.digest('hex'),
      read: async ({ from, to } = { from: 0, to: byteSize }) => file.read(from, to - from),
    };
  }

  private async open(): Promise<UnnamedFile> {
    const file = await this.owner.spool.open();
    if (this.isClosed) {
      await file.close();
      throw brokenOff();
    }
    this.onDisk.push(file);
    return file;
  }
}

/** In the place of a file until it has been read. */
const ABSENT: FormFile = { param: '', byteSize: 0, sha256: '', read: () => Promise.reject(brokenOff()) };

/** A byte order mark stays in the text. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Names in lower case, and their values, each character a byte. */
type PartHeader = Readonly<Record<string, readonly string[] | undefined>>;

const NAME = /;[ \t]*name[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/i;
const FILE_NAME = /;[ \t]*filename\*?[ \t]*=[ \t]*("?[^"\s;]*)/i;

/** The filename is undefined for a text, and may be shortened. */
function readHeader(header: PartHeader): { readonly name: string; readonly filename: string | undefined } {
  const disposition = header['content-disposition']?.[0] ?? '';
  const [, quoted, plain] = NAME.exec(disposition) ?? [];
  const name = quoted?.replaceAll(/\\(.)/g, '$1') ?? plain;
  if (!/^form-data[ \t]*;/i.test(disposition) || name === undefined || name === '')
    throw invalid('Each part of the form must have a name: Content-Disposition: form-data; name="…".');
  const encoding = header['content-transfer-encoding']?.[0] ?? 'binary';
  if (!/^(?:7bit|8bit|binary)$/i.test(encoding.trim()))
    throw invalid('The parts of the form must be sent without Content-Transfer-Encoding.');
  const filename = FILE_NAME.exec(disposition)?.[1]?.replace('"', '');
  return { name: Buffer.from(name, 'latin1').toString(), filename };
}
