import type { Command } from 'commander';
import type { ShownPerson, SignInLink } from '../../operator/operator.js';
import { personJson } from '../../operator/records.js';
import { readSecret } from '../client/connection.js';
import type { CliIo } from '../io.js';
import {
  moreJson,
  moreText,
  operatorCommand,
  type OperatorOptions,
  type PageOptions,
  pageRequest,
  withOperator,
  withPaging,
} from '../operator/operator-command.js';
import { configOf } from '../operator/store-command.js';
import { counted, facts, isoDate, isoTime, say, show, table } from '../terminal.js';
import { EXAMPLE_ID, examples } from './client-command.js';

type CreateOptions = OperatorOptions & { readonly passwordStdin?: boolean };

/** `darkroom people`: who signs in to the account page. */
export function addPeople(program: Command, io: CliIo): void {
  const people = program.command('people').description('people who sign in to the account page');
  operatorCommand(people, 'create <account_id> <email>')
    .description('create a person, and show a link that signs them in once')
    .option('--password-stdin', 'read a password from stdin instead; no link is made')
    .addHelpText('after', examples([`darkroom people create ${EXAMPLE_ID} ada@example.com`]))
    .action((accountId: string, email: string, options: CreateOptions) => create(io, { accountId, email }, options));
  withPaging(operatorCommand(people, 'list <account_id>'))
    .description("list an account's people, with the day of their last sign-in")
    .addHelpText('after', examples([`darkroom people list ${EXAMPLE_ID}`]))
    .action((accountId: string, options: OperatorOptions & PageOptions) =>
      withOperator(io, options, async (operator) => {
        const page = await operator.listPeople(accountId, pageRequest(options));
        const rows = page.items.map((person) => [
          person.personId,
          person.email,
          stateText(person),
          isoTime(person.createdAt),
          person.lastSignInAt === undefined ? '' : isoDate(person.lastSignInAt),
          signInText(person),
        ]);
        const text = table(['person', 'email', 'state', 'created', 'last sign-in', 'signs in with'], rows);
        show(
          io,
          { json: { people: page.items.map(personJson), ...moreJson(page) }, text: text + moreText(page) },
          options,
        );
      }),
    );
  operatorCommand(people, 'disable <person_id>')
    .description('keep a person from signing in, and end their sessions and connections within 5 seconds')
    .addHelpText('after', examples([`darkroom people disable ${EXAMPLE_ID}`]))
    .action((personId: string, options: OperatorOptions) =>
      withOperator(io, options, async (operator) => {
        const person = await operator.disablePerson(personId);
        show(io, { json: personJson(person), text: `${person.email} may not sign in any more.` }, options);
      }),
    );
  operatorCommand(people, 'enable <person_id>')
    .description('let a disabled person sign in again')
    .addHelpText('after', examples([`darkroom people enable ${EXAMPLE_ID}`]))
    .action((personId: string, options: OperatorOptions) =>
      withOperator(io, options, async (operator) => {
        const person = await operator.enablePerson(personId);
        show(io, { json: personJson(person), text: `${person.email} may sign in.` }, options);
      }),
    );
  operatorCommand(people, 'reset <person_id>')
    .description(
      'take password, passkeys, outside identities and the rights of an operator away, end all sessions, and show a link that signs the person in once',
    )
    .addHelpText('after', examples([`darkroom people reset ${EXAMPLE_ID}`]))
    .action((personId: string, options: OperatorOptions) =>
      withOperator(io, options, async (operator) => {
        const { person, link } = await operator.resetPerson(personId);
        await showWithLink(io, { person, link }, options);
      }),
    );
  operatorCommand(people, 'promote <person_id>')
    .description("make a person with a passkey an operator, who may use the operator's area in a browser")
    .addHelpText('after', examples([`darkroom people promote ${EXAMPLE_ID}`]))
    .action((personId: string, options: OperatorOptions) =>
      withOperator(io, options, async (operator) => {
        const person = await operator.promotePerson(personId);
        const text = `${person.email} is an operator, and signs in as one with ${passkeysText(person)}.`;
        show(io, { json: personJson(person), text }, options);
      }),
    );
  operatorCommand(people, 'demote <person_id>')
    .description('make an operator a person like any other, at once')
    .addHelpText('after', examples([`darkroom people demote ${EXAMPLE_ID}`]))
    .action((personId: string, options: OperatorOptions) =>
      withOperator(io, options, async (operator) => {
        const person = await operator.demotePerson(personId);
        show(io, { json: personJson(person), text: `${person.email} is no operator.` }, options);
      }),
    );
}

async function create(
  io: CliIo,
  person: { readonly accountId: string; readonly email: string },
  options: CreateOptions,
): Promise<void> {
  const password = options.passwordStdin ? await readSecret(io, `Password for ${person.email}: `) : undefined;
  await withOperator(io, options, async (operator) => {
    const created = await operator.createPerson({ ...person, ...(password === undefined ? {} : { password }) });
    await showWithLink(io, { person: created.person, link: created.link }, options);
  });
}

async function showWithLink(
  io: CliIo,
  { person, link }: { readonly person: ShownPerson; readonly link: SignInLink | undefined },
  options: OperatorOptions,
): Promise<void> {
  const address = link && ((await publicUrlOf(io, options)) ?? '') + link.path;
  show(
    io,
    {
      json: {
        ...personJson(person),
        ...(link && address !== undefined
          ? { sign_in_link: address, sign_in_link_expires_at: isoTime(link.expiresAt) }
          : {}),
      },
      text: facts([
        ['person', person.personId],
        ['email', person.email],
        ...(link && address !== undefined
          ? ([
              ['sign-in link', address],
              ['until', isoTime(link.expiresAt)],
            ] as const)
          : []),
      ]),
    },
    options,
  );
  if (options.json || link === undefined) return;
  say(io, 'The link signs in once whoever has it; it is kept nowhere else.');
  if (address === link.path) say(io, 'It is below the public address of the service.');
}

/** The public address of the service on these stores; a server elsewhere does not say its own. */
async function publicUrlOf(io: CliIo, options: OperatorOptions): Promise<string | undefined> {
  if (options.grpc !== undefined) return undefined;
  const { configuredUrl } = await import('../../wiring/open-program.js');
  return configuredUrl(await configOf(io, options));
}

function stateText({ disabledAt, operatorSince }: ShownPerson): string {
  return [disabledAt === undefined ? 'active' : 'disabled', ...(operatorSince === undefined ? [] : ['operator'])].join(
    ', ',
  );
}

function signInText(person: ShownPerson): string {
  const passkeys = person.passkeyCount === 0 ? [] : [passkeysText(person)];
  return [...(person.hasPassword ? ['password'] : []), ...passkeys].join(', ');
}

function passkeysText({ passkeyCount }: ShownPerson): string {
  return counted(passkeyCount, 'passkey');
}
