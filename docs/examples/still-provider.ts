import type {
  Provider,
  ProviderCall,
  ProviderCapabilities,
  ProviderReport,
  Submission,
} from 'darkroom-server/core/ports/provider';

/** Delivers the same picture for every task, at once. */
export class StillProvider implements Provider {
  /** References of the tasks this process took; a real provider keeps them on its side. */
  private readonly tasks = new Set<string>();

  constructor(
    private readonly picture: Uint8Array,
    private readonly mediaType: string,
  ) {}

  capabilities(): ProviderCapabilities {
    return {
      answersWithOutputs: false,
      isAskedBy: 'token',
      takesTokenOnce: true,
      settleMs: 0,
      cancels: 'nothing',
      isPaid: false,
    };
  }

  async submit({ token }: Submission, { signal }: ProviderCall) {
    if (signal.aborted) throw new Error('The call was aborted before the task was taken.');
    this.tasks.add(token);
    return { accepted: true, reference: token } as const;
  }

  async poll(reference: string): Promise<ProviderReport> {
    if (!this.tasks.has(reference)) return { state: 'unknown' };
    return { state: 'succeeded', outputs: [{ kind: 'image', mediaType: this.mediaType }] };
  }

  async output(reference: string, index: number) {
    if (!this.tasks.has(reference) || index !== 0) throw new Error('There is no such output.');
    return chunks(this.picture);
  }

  async cancel() {
    // A task is finished as soon as it is taken: there is nothing left to stop.
  }

  async recover(token: string) {
    return this.tasks.has(token) ? ({ found: true, reference: token } as const) : ({ found: false } as const);
  }
}

async function* chunks(bytes: Uint8Array) {
  yield bytes;
}
