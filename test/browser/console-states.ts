import { type Caller, SCOPES } from '../../core/access/credential.js';
import { createAccount, suspendAccount } from '../../core/access/manage.js';
import { createGeneration } from '../../core/generation/create-generation.js';
import type { JsonObject } from '../../core/json.js';
import { createPerson } from '../../core/people/manage-people.js';
import { appsForKeys, consoleApp } from '../../core/people/own-keys.js';
import { createEndpoint } from '../../core/webhooks/manage-endpoints.js';
import { until } from '../fixtures/clocks.js';
import { referenceFile } from '../fixtures/reference-files.js';
import type { PageHarness, Visitor } from './page-harness.js';

/** A page in one of its states: how it is opened, and the text that shows that it is ready. */
export interface Shown {
  readonly name: string;
  readonly open: (visitor: Visitor, pages: PageHarness) => Promise<void>;
}

export const section = (name: string, at: string, ready: string): Shown => ({
  name,
  open: async (visitor, pages) => {
    await pages.openSignedIn(visitor, at);
    await visitor.page.getByText(ready).first().waitFor();
  },
});

/** A page as seen by the person of a new account, or of a suspended one. */
const as = (who: keyof typeof OTHERS, name: string, at: string, ready: string): Shown => ({
  name: `${name}, of ${who}`,
  open: async (visitor, pages) => {
    const person = await pages.service.harness.context.people.findByEmail(OTHERS[who]);
    if (!person) throw new Error(`There is no ${OTHERS[who]}.`);
    await pages.openSignedIn(visitor, at, person);
    await visitor.page.getByText(ready).first().waitFor();
  },
});

const OTHERS = { 'a new account': 'new@example.com', 'a suspended account': 'suspended@example.com' } as const;
const PICTURE = { model_key: 'picture', operation: 'image_generation', prompt: 'a cat', parameters: { size: '96x64' } };

/** Generations and webhooks of every state, and the accounts of `OTHERS`. */
export async function makeConsoleStates({ service: { harness, person } }: PageHarness): Promise<void> {
  const { context } = harness;
  const { accountId } = person;
  await harness.startWorker();
  const { appId } = await consoleApp(context, accountId);
  const { defaultApp } = await appsForKeys(context, accountId);
  const caller: Caller = { accountId, appId, credentialId: person.personId, scopes: SCOPES };
  const program = { ...caller, appId: defaultApp.appId };
  await createEndpoint(context, program, { url: 'https://a.example/hook', description: 'of the shop' });
  const make = async (changes: JsonObject, by: Caller): Promise<string> =>
    (await createGeneration(context, by, context.ids.uuid(), { ...PICTURE, ...changes })).generation.generationId;
  const ended = [
    await make({}, caller),
    await make({ model_key: 'picture-refused' }, caller),
    await make({ negative_prompt: 'dogs', parameters: { size: '96x64', n: 3 } }, program),
  ];
  await make({ model_key: 'picture-held' }, caller);
  for (const id of ended)
    await until(async () => {
      const record = await context.generations.read(id);
      return record?.kind === 'generation' && record.settledAt !== undefined;
    });
  for (const [who, email] of Object.entries(OTHERS)) {
    const other = await createAccount(context, { name: who });
    await createPerson(context, { accountId: other.accountId, email });
    if (who === 'a suspended account') await suspendAccount(context, other.accountId);
  }
}

const openTile = (status: string): Shown => ({
  name: `a generation that is ${status}`,
  open: async (visitor, pages) => {
    await pages.openSignedIn(visitor, `/console/generations?status=${status}`);
    await visitor.page.locator('.tile-link').first().click();
    await visitor.page.getByText('Timeline').waitFor();
  },
});

const openWebhook = async (visitor: Visitor, pages: PageHarness): Promise<void> => {
  const { page } = visitor;
  await pages.openSignedIn(visitor, '/console/webhooks');
  await page.getByRole('link', { name: 'a.example/hook' }).click();
  await page.getByRole('row').filter({ hasText: 'Not sent' }).waitFor();
};

/** A webhook with one of its dialogs open. */
const webhookDialog = (name: string, open: (visitor: Visitor) => Promise<void>): Shown => ({
  name,
  open: async (visitor, pages) => {
    await openWebhook(visitor, pages);
    await open(visitor);
    await visitor.page.getByRole('dialog').waitFor();
  },
});

/** Creates with a model and a seed in the playground. */
const createIn = async (visitor: Visitor, pages: PageHarness, model: string): Promise<void> => {
  const { page } = visitor;
  await pages.openSignedIn(visitor, `/console/playground?model=${model}`);
  await page.getByRole('radio', { name: '96 × 64' }).check();
  await page.getByRole('spinbutton', { name: 'Seed' }).fill('7');
  await page.getByLabel('Prompt', { exact: true }).fill('a cat');
  await page.getByRole('button', { name: 'Create image', exact: true }).click();
};

/** The sections of an account's page, in each of their states. */
export const CONSOLE_STATES: readonly Shown[] = [
  as('a new account', 'API keys', '/console/keys', 'No API keys yet'),
  as('a new account', 'connections', '/console/connections', 'No connections yet'),
  section('Playground', '/console/playground', 'Results appear here'),
  {
    name: 'the playground with errors, a file and code',
    open: async (visitor, pages) => {
      const { page } = visitor;
      await pages.openSignedIn(visitor, '/console/playground');
      const buffer = Buffer.from(await referenceFile('png'));
      await page.locator('input[type=file]').setInputFiles([
        {
          name: 'a-file-with-a-very-long-name-that-does-not-fit-into-a-narrow-screen.png',
          mimeType: 'image/png',
          buffer,
        },
        { name: 'broken.png', mimeType: 'image/png', buffer: Buffer.from('<p>') },
      ]);
      await page.getByRole('button', { name: 'Upload broken.png again' }).waitFor();
      await page.getByText('Ready').waitFor();
      await page.getByLabel('Tuning').fill('{');
      await page.getByRole('tab', { name: 'Code' }).click();
      await page.getByRole('radio', { name: 'Python' }).check();
      await page.getByRole('button', { name: 'Create image', exact: true }).click();
      await page.getByText('Write a prompt first.').waitFor();
    },
  },
  ...['OpenAI', 'OpenAI, which takes one file only'].map((name): Shown => ({
    name: `the playground with a video for ${name}`,
    open: async (visitor, pages) => {
      const { page } = visitor;
      await pages.openSignedIn(visitor, '/console/playground?model=clip');
      await page.getByLabel('Prompt', { exact: true }).fill('waves');
      await page.getByRole('spinbutton', { name: 'Duration seconds' }).fill('2');
      const file = { name: 'a.png', mimeType: 'image/png', buffer: Buffer.from(await referenceFile('png')) };
      await page.locator('input[type=file]').setInputFiles(name === 'OpenAI' ? [file] : [file, file]);
      await page.getByText('Ready').last().waitFor();
      await page.getByRole('tab', { name: 'Code' }).click();
      await page.getByRole('radio', { name: 'OpenAI', exact: true }).check();
      await page.getByText(name === 'OpenAI' ? 'input_reference=' : 'takes one file for a video').waitFor();
    },
  })),
  {
    name: 'the playground with the models and a negative prompt',
    open: async (visitor, pages) => {
      const { page } = visitor;
      await pages.openSignedIn(visitor, '/console/playground');
      await page.getByRole('button', { name: 'Negative prompt' }).click();
      await page.getByRole('button', { name: /^Model: / }).click();
      await page.getByRole('menuitemradio', { name: 'Clip' }).waitFor();
    },
  },
  {
    name: 'the playground with a result and its repetition',
    open: async (visitor, pages) => {
      const { page } = visitor;
      await createIn(visitor, pages, 'picture');
      await page.locator('.out-bar').getByText('Succeeded').waitFor();
      await page.getByRole('button', { name: 'Create image', exact: true }).click();
      await page.getByText('give the same result').waitFor();
    },
  },
  {
    name: 'the playground with a result as JSON',
    open: async (visitor, pages) => {
      await createIn(visitor, pages, 'picture');
      await visitor.page.locator('.out-bar').getByText('Succeeded').waitFor();
      await visitor.page.getByRole('tab', { name: 'JSON' }).click();
      await visitor.page.getByRole('heading', { name: 'Response' }).waitFor();
    },
  },
  {
    name: 'the playground with a failure',
    open: async (visitor, pages) => {
      await createIn(visitor, pages, 'picture-refused');
      await visitor.page.getByRole('button', { name: 'Create again' }).waitFor();
    },
  },
  {
    name: 'the playground with a generation under way',
    open: async (visitor, pages) => {
      await createIn(visitor, pages, 'picture-held');
      await visitor.page.locator('.out-bar').getByText('Running').waitFor();
    },
  },
  {
    name: 'the playground with what cannot be paid',
    open: async (visitor, pages) => {
      await as('a new account', '', '/console/playground', 'Results appear here').open(visitor, pages);
      await visitor.page.getByRole('radio', { name: '96 × 64' }).check();
      await visitor.page.getByText('This would reserve 10 credits').waitFor();
    },
  },
  as('a suspended account', 'the playground', '/console/playground', 'until the operator resumes it'),
  section('Overview', '/console', 'Credits by day'),
  as('a new account', 'overview', '/console', 'No generations yet'),
  as('a suspended account', 'overview', '/console', 'This account is suspended.'),
  section('Models', '/console/models', '10 credits per image'),
  section('one model', '/console/models/picture', 'Parameters'),
  section('a model that is not there', '/console/models/none', 'No model'),
  section('an address without a page', '/console/nowhere', 'There is no page at this address'),
  section('Generations', '/console/generations', 'a cat'),
  section('Generations in lines, where there is room', '/console/generations?view=list', 'a cat'),
  section('generations that no filter lets through', '/console/generations?status=cancelled', 'Nothing matches'),
  as('a new account', 'generations', '/console/generations', 'No generations yet'),
  as('a suspended account', 'generations', '/console/generations', 'The account is suspended.'),
  openTile('succeeded'),
  openTile('failed'),
  openTile('running'),
  {
    name: 'a generation on a page of its own',
    open: async (visitor, pages) => {
      await openTile('succeeded').open(visitor, pages);
      await visitor.page.reload();
      await visitor.page.getByText('Timeline').waitFor();
      await visitor.page.getByRole('tab', { name: /Ledger entries/ }).click();
      await visitor.page.getByRole('row', { name: /Charged/ }).waitFor();
    },
  },
  {
    name: 'an output in full screen',
    open: async (visitor, pages) => {
      await openTile('succeeded').open(visitor, pages);
      await visitor.page.getByRole('button', { name: 'Show in full screen' }).click();
      await visitor.page.getByRole('dialog', { name: 'Output' }).waitFor();
    },
  },
  section(
    'a generation that is not there',
    '/console/generations/00000000-0000-7000-8000-000000000000',
    'There is no such generation.',
  ),
  {
    name: 'a question before a generation is deleted',
    open: async (visitor, pages) => {
      await openTile('failed').open(visitor, pages);
      await visitor.page.getByRole('button', { name: 'More actions' }).click();
      await visitor.page.getByRole('menuitem', { name: 'Delete…' }).click();
      await visitor.page.getByRole('button', { name: 'Delete generation' }).waitFor();
    },
  },
  section('Usage by day', '/console/usage', 'Closing balance'),
  section('Usage by key', '/console/usage?by=key', 'Closing balance'),
  section('a range without use', '/console/usage?from=2001-01-01&to=2001-01-02', 'No usage in these days'),
  section('a range that is refused', '/console/usage?from=2001-01-01&to=2009-01-02', 'at most 366 days'),
  as('a new account', 'usage', '/console/usage', 'No entries yet'),
  as('a suspended account', 'usage', '/console/usage', 'This account is suspended'),
  section('Webhooks', '/console/webhooks', 'of the shop'),
  section('webhooks of an App without any', '/console/webhooks?app=none', 'No webhooks in this App'),
  as('a new account', 'webhooks', '/console/webhooks', 'No webhooks yet'),
  as('a suspended account', 'webhooks', '/console/webhooks', 'The account is suspended.'),
  {
    name: 'a webhook that is refused',
    open: async (visitor, pages) => {
      const { page } = visitor;
      await pages.openSignedIn(visitor, '/console/webhooks?new=1');
      await page.getByRole('dialog').getByRole('button', { name: 'Create webhook' }).click();
      await page.getByText('Must not be empty.').waitFor();
    },
  },
  {
    name: 'the menu of a webhook in the list',
    open: async (visitor, pages) => {
      await pages.openSignedIn(visitor, '/console/webhooks');
      await visitor.page.getByRole('button', { name: 'Actions for a.example/hook' }).click();
      await visitor.page.getByRole('menuitem', { name: 'Delete…' }).waitFor();
    },
  },
  {
    name: 'a webhook that is gone, with a delivery',
    open: async (visitor, pages) => {
      const { page } = visitor;
      await openWebhook(visitor, pages);
      await page.getByText('answered 410 Gone').waitFor();
      await page.locator('.row-link').first().click();
      await page.getByRole('tab', { name: 'Response' }).click();
      await page.getByText('Try 1').last().waitFor();
    },
  },
  {
    name: 'a webhook with its new secret',
    open: async (visitor, pages) => {
      const { page } = visitor;
      await openWebhook(visitor, pages);
      await page.getByRole('button', { name: 'More actions' }).click();
      await page.getByRole('menuitem', { name: 'Rotate secret…' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Rotate secret' }).click();
      await page.locator('.once').waitFor();
    },
  },
  webhookDialog('a webhook that is edited', ({ page }) => page.getByRole('button', { name: 'Edit' }).click()),
  webhookDialog('deliveries that are resent', async ({ page }) => {
    await page.getByRole('button', { name: 'Resend failed…' }).click();
    await page.getByText(/^\d+ deliver(y|ies)$/).waitFor();
  }),
  {
    name: 'deliveries that no filter lets through',
    open: async (visitor, pages) => {
      await openWebhook(visitor, pages);
      await visitor.page.getByLabel('State').selectOption('exhausted');
      await visitor.page.getByText('No delivery matches these filters').waitFor();
    },
  },
  section('per-request webhooks', '/console/webhooks/default', 'Darkroom-Webhook-Url'),
];
