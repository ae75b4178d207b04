import type { Caller } from '../../core/access/credential.js';
import { createAccount, createApp, createKey } from '../../core/access/manage.js';
import type { Model } from '../../core/catalog/model.js';
import type { Files, Identity, Machine, Models, Money } from '../../core/context.js';
import { grantCredits } from '../../core/credits/operate.js';
import { estimateGeneration } from '../../core/generation/create-generation.js';
import { createPerson } from '../../core/people/manage-people.js';
import { createSignInLink } from '../../core/people/sign-in.js';
import { signInPath } from '../sign-in-link.js';

const DEMO_CREDITS = 10_000;
const DEMO_NAME = 'demo';
const DEMO_EMAIL = 'demo@localhost';
export const FIRST_PROMPT = 'a lighthouse at dusk';

export interface Demo {
  readonly accountId: string;
  readonly appId: string;
  /** Shown once, in a terminal or a file of the owner; only its digest is stored. */
  readonly secret: string;
  /** The demo person, and a link that signs them in, once; shown as `secret` is. Undefined if people cannot sign in. */
  readonly signIn: { readonly personId: string; readonly path: string } | undefined;
  /**
   * The first model of the catalog that makes a picture of a prompt alone, for less than there is; undefined when none
   * does.
   */
  readonly modelKey: string | undefined;
}

/**
 * Gives an empty data folder a demo account: 10,000 credits, one App, one key, and one person where people can sign
 * in. Returns null if there is already an account with a key. An interrupted start is completed, not repeated.
 */
export async function firstStart(
  context: Money & Files & Identity & Models & Machine,
  { hasSignIn }: { readonly hasSignIn: boolean },
): Promise<Demo | null> {
  const [known] = (await context.accounts.list({ limit: 1 })).items;
  if (known) {
    const keys = await context.credentials.listKeys(known.accountId, { limit: 1 });
    if (known.name !== DEMO_NAME || keys.items.length > 0) return null;
  }
  const { accountId } = known ?? (await createAccount(context, { name: DEMO_NAME }));
  await grantCredits(context, {
    accountId,
    operationId: 'first-start',
    credits: DEMO_CREDITS,
    reason: 'Credits to try things with',
  });
  const [app = await createApp(context, { accountId, name: DEMO_NAME })] = (
    await context.credentials.listApps(accountId, { limit: 1 })
  ).items;
  const link = hasSignIn ? await demoLink(context, accountId) : undefined;
  // Last: an account with a key is complete.
  const { secret, key } = await createKey(context, { appId: app.appId, name: 'first key' });
  const model = await firstPictureModel(context, { accountId, appId: app.appId, credentialId: key.keyId, scopes: [] });
  return {
    accountId,
    appId: app.appId,
    secret,
    signIn: link,
    modelKey: model?.modelKey,
  };
}

/** The App of the demo account that an earlier start has made, which may be in use; null if there is none. */
export async function demoApp(context: Money & Identity): Promise<string | null> {
  const [first] = (await context.accounts.list({ limit: 1 })).items;
  if (first?.name !== DEMO_NAME) return null;
  const [app] = (await context.credentials.listApps(first.accountId, { limit: 1 })).items;
  return app?.appId ?? null;
}

async function demoLink(context: Money & Identity & Machine, accountId: string): Promise<Demo['signIn']> {
  const person =
    (await context.people.findByEmail(DEMO_EMAIL)) ?? (await createPerson(context, { accountId, email: DEMO_EMAIL }));
  const { secret } = await createSignInLink(context, person.personId);
  return { personId: person.personId, path: signInPath(secret) };
}

async function firstPictureModel(
  context: Money & Files & Models & Machine,
  caller: Caller,
): Promise<Model | undefined> {
  for (const model of context.catalog.models()) {
    if (model.promptRule === 'none') continue;
    const body = { model_key: model.modelKey, operation: 'image_generation', prompt: FIRST_PROMPT };
    const isPossible = await estimateGeneration(context, caller, body).then(
      () => true,
      () => false,
    );
    if (isPossible) return model;
  }
  return undefined;
}
