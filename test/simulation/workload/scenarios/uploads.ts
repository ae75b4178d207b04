import type { JsonObject } from '../../../../core/json.js';
import { plainImage } from '../../../fixtures/plain-media.js';
import { sha256Of } from '../../../fixtures/sha256.js';
import { MAX_SKEW_MS } from '../../checker/process-clocks.js';
import { SIMULATED_SETTINGS } from '../../harness/settings.js';
import type { SimulatedProcess } from '../../harness/simulated-process.js';
import type { Answer, Request } from '../../observed.js';
import { textField } from '../operator.js';
import type { ScenarioRun } from './scenario-run.js';

/**
 * A process falls asleep over a refusal because nothing had been sent yet; meanwhile the bytes are sent, and completed
 * under another key.
 */
export async function refuseACompletionTooLate(run: ScenarioRun): Promise<void> {
  const [slow, quick] = run.fronts as [SimulatedProcess, SimulatedProcess];
  const upload = await Upload.prepare(run);
  const { lapseMs } = run;
  // The second read, after which only the key remains to be freed.
  run.service.faults.plan('uploads.read', { fault: 'sleepAfter', forMs: lapseMs + 5_000, skip: 1 });
  const refused = upload.complete('first', {}, slow);
  await run.context.scheduler.pause(100);
  await upload.send();
  await upload.complete('second', {}, quick);
  await run.context.scheduler.pause(lapseMs);
  await upload.complete('first', {}, quick);
  await refused;
  await upload.complete('first', { sha256: upload.sha256 }, quick);
}

/**
 * A process falls asleep with its key, and succeeds when another one has taken the key over and is about to free it.
 */
export async function completeTooLate(run: ScenarioRun): Promise<void> {
  const [slow, quick] = run.fronts as [SimulatedProcess, SimulatedProcess];
  const upload = await Upload.prepare(run);
  const { lapseMs } = run;
  run.service.faults.plan('claims.insert', { fault: 'sleepAfter', forMs: lapseMs + 5_000 });
  const late = upload.complete('first', {}, slow);
  await run.context.scheduler.pause(lapseMs);
  run.service.faults.plan('claims.remove', { fault: 'slow', forMs: 10_000 });
  const refused = upload.complete('first', {}, quick);
  await run.context.scheduler.pause(1_000);
  await upload.send();
  await Promise.all([late, refused]);
  await upload.complete('first', { sha256: upload.sha256 }, quick);
}

/**
 * A key is used for a file type that no model accepts, then for one that a model accepts, and again once its target has
 * expired.
 */
export async function prepareAgain(run: ScenarioRun): Promise<void> {
  const request = (role: string): Request => ({
    operation: 'prepare',
    key,
    body: { filename: 'reference.png', media_type: 'image/png', byte_size: 64, role },
  });
  const key = run.name();
  await run.network.ask(request('end_frame'), run.payer);
  await run.network.ask(request('start_frame'), run.payer);
  await run.context.scheduler.pause(SIMULATED_SETTINGS.uploadTargetMs + 2 * MAX_SKEW_MS + 1_000);
  await run.network.ask(request('start_frame'), run.payer);
}

/** An upload is used when its retention is almost over, and still exists for the generation that runs past it. */
export async function useLate(run: ScenarioRun): Promise<void> {
  const { scheduler } = run.context;
  const [process] = run.fronts as [SimulatedProcess];
  const upload = await Upload.prepare(run);
  await upload.send();
  await upload.complete('first', {}, process);
  const untilLateMs = SIMULATED_SETTINGS.uploadRetentionMs - 2 * run.farthestSkewMs - 10_000;
  run.leaveOneAwake(untilLateMs);
  await scheduler.pause(untilLateMs);
  await run.pay(run.payer, 50);
  run.service.provider.script = { ending: 'never ends', takesMs: 0 };
  const body = {
    model_key: 'plain',
    operation: 'image_generation',
    prompt: 'after a picture',
    parameters: {},
    reference_upload_ids: [upload.id],
  };
  await run.network.ask({ operation: 'create', key: run.name(), body }, run.payer);
  await scheduler.pause(4 * run.farthestSkewMs + 60_000);
}

/** One file during its upload. */
class Upload {
  private constructor(
    private readonly run: ScenarioRun,
    private readonly name: string,
    private readonly bytes: Uint8Array,
    private readonly prepared: JsonObject,
  ) {}

  static async prepare(run: ScenarioRun): Promise<Upload> {
    const name = run.name();
    const bytes = plainImage(64, 64, 'image/png', name);
    const body = {
      filename: 'reference.png',
      media_type: 'image/png',
      byte_size: bytes.byteLength,
      role: 'reference_image',
    };
    const answer = await run.network.ask({ operation: 'prepare', key: name, body }, run.payer);
    if (answer.outcome !== 'success') throw new Error(`An upload could not be prepared: ${JSON.stringify(answer)}`);
    return new Upload(run, name, bytes, answer.data);
  }

  get sha256(): string {
    return sha256Of(this.bytes);
  }

  get id(): string {
    return textField(this.prepared, 'upload_id');
  }

  send(): Promise<void> {
    const { prepared, bytes } = this;
    return this.run.network.put(
      this.id,
      textField(prepared, 'upload_url'),
      prepared['required_headers'] as Record<string, string>,
      bytes,
    );
  }

  complete(key: string, body: JsonObject, to: SimulatedProcess): Promise<Answer> {
    return this.run.network.ask(
      { operation: 'complete', key: `${this.name}-${key}`, uploadId: this.id, body },
      this.run.payer,
      to,
    );
  }
}
