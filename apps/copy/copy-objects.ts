import type { ObjectsDriver, OpenObjects } from '../../adapters/driver.js';
import { recordFrom } from '../../adapters/record-text.js';
import type { GenerationRecord } from '../../core/generation/generation.js';
import type { UploadRecord } from '../../core/uploads/upload.js';
import type { Config } from '../config/config.js';
import { objectsOpeningOf, QUIETLY } from '../stores/open-database.js';
import { configuredUrl } from '../wiring/open-program.js';
import { readSecrets } from '../wiring/secrets.js';

export interface CopiedObjects {
  /** Objects of the target that are known to have all bytes. */
  readonly objects: number;
  /** Those that records name and the source does not have, as it removes them when their time is over. */
  readonly missing: number;
}

interface StoredObject {
  readonly key: string;
  readonly mediaType: string;
  readonly byteSize: number;
  /** The digest of the bytes; absent while they may still change. */
  readonly sha256?: string;
}

/**
 * Copies the objects that records name from one store to another. Objects that exist there with the
 * right size are skipped, so that an interrupted copy continues. Thumbnails are made again at their first request.
 */
export class ObjectCopy {
  private objects = 0;
  private missing = 0;

  private constructor(
    private readonly from: OpenObjects,
    private readonly to: OpenObjects,
  ) {}

  static async open(source: Config, target: Config): Promise<ObjectCopy> {
    const from = await opened(source);
    try {
      return new ObjectCopy(from, await opened(target));
    } catch (error) {
      await from.close?.();
      throw error;
    }
  }

  get copied(): CopiedObjects {
    return { objects: this.objects, missing: this.missing };
  }

  /** Copies the objects of a record. Throws one sentence for bytes that are not those of the record. */
  async copyOf(table: 'generations' | 'uploads', text: string): Promise<void> {
    const objects = table === 'generations' ? ofGeneration(recordFrom(text)) : ofUpload(recordFrom(text));
    for (const object of objects) await this.copy(object);
  }

  private async copy({ key, mediaType, byteSize, sha256 }: StoredObject): Promise<void> {
    const [from, to] = [this.from.store, this.to.store];
    if ((await to.stat(key))?.byteSize === byteSize) {
      this.objects += 1;
      return;
    }
    const bytes = await from.read(key);
    if (bytes === null) {
      this.missing += 1;
      return;
    }
    const written = await to.write(key, bytes, { mediaType, maxBytes: byteSize });
    if (written === 'too-large' || written.byteSize !== byteSize || (sha256 ?? written.sha256) !== written.sha256)
      throw new Error(`The object ${key} is damaged: its bytes are not those that were stored.`);
    this.objects += 1;
  }

  async close(): Promise<void> {
    await this.from.close?.();
    await this.to.close?.();
  }
}

function opened(config: Config): Promise<OpenObjects> {
  const driver: ObjectsDriver = config.stores.objects.driver;
  return driver.open({
    ...objectsOpeningOf(config, QUIETLY),
    as: 'tool',
    secret: readSecrets(config.secretFile, { inUse: true, isShared: true }).objects,
    publicUrl: () => configuredUrl(config),
    takesBytes: () => Promise.resolve(true),
  });
}

function ofGeneration(record: GenerationRecord): readonly StoredObject[] {
  if (record.kind !== 'generation') return [];
  const { references, outputs } = record;
  return [
    ...references,
    ...outputs.map(({ objectKey, contentType: mediaType, byteSize, sha256 }) => {
      return { objectKey, mediaType, byteSize, sha256 };
    }),
  ].map(({ objectKey: key, mediaType, byteSize, sha256 }) => ({ key, mediaType, byteSize, sha256 }));
}

/** One that is not complete may have its bytes already, which are checked when it is. */
function ofUpload(record: UploadRecord): readonly StoredObject[] {
  if (record.kind !== 'upload') return [];
  const { objectKey, stagingKey, mediaType, byteSize, ready } = record;
  return objectKey === undefined
    ? [{ key: stagingKey, mediaType, byteSize }]
    : [{ key: objectKey, mediaType, byteSize, ...(ready === undefined ? {} : { sha256: ready.sha256 }) }];
}
