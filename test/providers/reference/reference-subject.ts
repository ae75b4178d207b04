import type { Submission } from '../../../core/ports/provider.js';
import type { OpenedRemoteProvider, RemoteProviderSubject } from '../../contracts/remote-provider.contract.js';
import { ReferenceFake, refusalBody, REFERENCE_KEY, type ReferenceKind } from './reference-fake.js';
import { ReferenceProvider, referenceCapabilities, type ReferenceOptions } from './reference-provider.js';

type Make = (options: ReferenceOptions) => ReferenceProvider;

/** The reference provider of one kind, or another one that is made in its place, under the contract. */
export function referenceSubject(
  kind: ReferenceKind,
  name = `reference, ${kind}`,
  make: Make = (options) => new ReferenceProvider(options),
): RemoteProviderSubject {
  const closers = new WeakMap<OpenedRemoteProvider, () => Promise<void>>();
  return {
    name,
    open: async () => {
      const fake = await ReferenceFake.open(kind);
      const made: ReferenceProvider[] = [];
      const connected = (changes: Partial<ReferenceOptions> = {}) => {
        const provider = make({ origin: fake.server.url, key: REFERENCE_KEY, kind, ...changes });
        made.push(provider);
        return provider;
      };
      const opened: OpenedRemoteProvider = {
        provider: connected(),
        server: fake.server,
        tasks: () => fake.tasks,
        secret: REFERENCE_KEY,
        reopened: () => connected(),
        openedAt: (origin) => connected({ origin }),
        openedWithKey: (key) => connected({ key }),
        quick: (token) => task(token, 'a lighthouse'),
        endless: (token) => task(token, 'endless'),
        queued: (token) => task(token, 'queued'),
        withReference: (token, reference) => ({ ...task(token, 'a lighthouse'), references: [reference] }),
      };
      closers.set(opened, async () => {
        await Promise.all(made.map((provider) => provider.close()));
        await fake.server.close();
      });
      return opened;
    },
    close: async (opened) => closers.get(opened)?.(),
    supports: {
      capabilities: referenceCapabilities(kind),
      cost: true,
      checksKey: true,
      readsErrors: true,
      hasStatusWord: true,
      followsRedirects: true,
    },
    refusals: [
      {
        name: 'too many tasks',
        status: 429,
        body: refusalBody('too_many'),
        code: 'PROVIDER_UNAVAILABLE',
        because: 'capacity',
      },
      {
        name: 'a wrong key',
        status: 401,
        body: refusalBody('bad_key'),
        code: 'PROVIDER_REJECTED',
        because: 'not-here',
      },
      {
        name: 'a prompt against its policy',
        status: 422,
        body: refusalBody('prompt_refused'),
        code: 'CONTENT_REJECTED_INPUT',
      },
      { name: 'anything else', status: 400, body: refusalBody('bad_request'), code: 'PROVIDER_REJECTED' },
    ],
    failures: [
      { name: 'the picture is withheld', code: 'CONTENT_REJECTED_OUTPUT', task: (_, token) => task(token, 'withheld') },
    ],
    partial: { outputs: 1, task: (_, token) => ({ ...task(token, 'half'), outputCount: 2 }) },
  };
}

function task(token: string, prompt: string): Submission {
  return {
    generationId: '0199f0d2-8e60-7b21-9f0e-c2a4d8e6b170',
    attempt: 1,
    modelKey: 'reference',
    operation: 'image_generation',
    prompt,
    parameters: {},
    references: [],
    settings: {},
    token,
    outputCount: 1,
    timeLeftMs: 60_000,
  };
}
