import type { Command } from 'commander';
import { ServiceError } from '../../../core/errors.js';
import type { MessageJson, Person, ResetPersonResponse } from '../../operator/operator.js';
import { readSecret } from '../client/connection.js';
import type { CliIo } from '../io.js';
import {
  configOf,
  moreText,
  operatorCommand,
  type OperatorOptions,
  type PageOptions,
  pageRequest,
  present,
  withOperator,
  withPaging,
} from '../operator/operator-command.js';
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
      withOperator(io, options, async (operator, json) => {
        const page = await operator.people.listPeople({ accountId, ...pageRequest(options) });
        const rows = page.people.map((person) => [
          person.personId,
          person.email,
          stateText(person),
          isoTime(person.createTime),
          isoDate(person.lastSignInTime) ?? '',
          signInText(person),
        ]);
        const titles = ['person', 'email', 'state', 'created', 'last sign-in', 'signs in with'];
        show(io, { json: json(page), text: table(titles, rows) + moreText(page) }, options);
      }),
    );
  operatorCommand(people, 'disable <person_id>')
    .description('keep a person from signing in, and end their sessions and connections within 5 seconds')
    .addHelpText('after', examples([`darkroom people disable ${EXAMPLE_ID}`]))
    .action((personId: string, options: OperatorOptions) =>
      withOperator(io, options, async (operator, json) => {
        const person = present((await operator.people.disablePerson({ personId })).person);
        show(io, { json: json(person), text: `${person.email} may not sign in any more.` }, options);
      }),
    );
  operatorCommand(people, 'enable <person_id>')
    .description('let a disabled person sign in again')
    .addHelpText('after', examples([`darkroom people enable ${EXAMPLE_ID}`]))
    .action((personId: string, options: OperatorOptions) =>
      withOperator(io, options, async (operator, json) => {
        const person = present((await operator.people.enablePerson({ personId })).person);
        show(io, { json: json(person), text: `${person.email} may sign in.` }, options);
      }),
    );
  operatorCommand(people, 'reset <person_id>')
    .description(
      'take password, passkeys, outside identities and the rights of an operator away, end all sessions, and show a link that signs the person in once',
    )
    .addHelpText('after', examples([`darkroom people reset ${EXAMPLE_ID}`]))
    .action((personId: string, options: OperatorOptions) =>
      withOperator(io, options, async (operator, json) =>
        showWithLink(io, await operator.people.resetPerson({ personId }), json, options),
      ),
    );
  operatorCommand(people, 'promote <person_id>')
    .description("make a person with a passkey an operator, who may use the operator's area in a browser")
    .addHelpText('after', examples([`darkroom people promote ${EXAMPLE_ID}`]))
    .action((personId: string, options: OperatorOptions) =>
      withOperator(io, options, async (operator, json) => {
        const person = present((await operator.people.promotePerson({ personId })).person);
        const text = `${person.email} is an operator, and signs in as one with ${passkeysText(person)}.`;
        show(io, { json: json(person), text }, options);
      }),
    );
  operatorCommand(people, 'demote <person_id>')
    .description('make an operator a person like any other, at once')
    .addHelpText('after', examples([`darkroom people demote ${EXAMPLE_ID}`]))
    .action((personId: string, options: OperatorOptions) =>
      withOperator(io, options, async (operator, json) => {
        const person = present((await operator.people.demotePerson({ personId })).person);
        show(io, { json: json(person), text: `${person.email} is no operator.` }, options);
      }),
    );
}

async function create(
  io: CliIo,
  person: { readonly accountId: string; readonly email: string },
  options: CreateOptions,
): Promise<void> {
  const password = options.passwordStdin ? await readSecret(io, `Password for ${person.email}: `) : undefined;
  await withOperator(io, options, async (operator, json) => {
    // In the message, an empty password means none.
    if (password === '') throw new ServiceError('FIELD_INVALID', 'A password must have 12 to 256 characters.');
    await showWithLink(io, await operator.people.createPerson({ ...person, password: password ?? '' }), json, options);
  });
}

async function showWithLink(
  io: CliIo,
  { person: sent, signInLink }: Pick<ResetPersonResponse, 'person' | 'signInLink'>,
  json: MessageJson,
  options: OperatorOptions,
): Promise<void> {
  const person = present(sent);
  const names = [
    ['person', person.personId],
    ['email', person.email],
  ] as const;
  if (signInLink === undefined) {
    show(io, { json: json(person), text: facts(names) }, options);
    return;
  }
  const { path, expireTime } = signInLink;
  const publicUrl = await publicUrlOf(io, options);
  const link = `${publicUrl ?? ''}${path}`;
  const until = isoTime(present(expireTime));
  show(
    io,
    {
      json: { ...json(person), sign_in_link: link, sign_in_link_expires_at: until },
      text: facts([...names, ['sign-in link', link], ['until', until]]),
    },
    options,
  );
  if (options.json) return;
  say(io, 'The link signs in once whoever has it; it is kept nowhere else.');
  if (publicUrl === undefined) say(io, 'It is below the public address of the service.');
}

/** The public address of the service on these stores; a server elsewhere does not say its own. */
async function publicUrlOf(io: CliIo, options: OperatorOptions): Promise<string | undefined> {
  if (options.grpc !== undefined) return undefined;
  const { configuredUrl } = await import('../../wiring/open-program.js');
  return configuredUrl(await configOf(io, options));
}

function stateText({ disableTime, promoteTime }: Person): string {
  return `${disableTime === undefined ? 'active' : 'disabled'}${promoteTime === undefined ? '' : ', operator'}`;
}

function signInText(person: Person): string {
  const passkeys = person.passkeys === 0 ? [] : [passkeysText(person)];
  return [...(person.hasPassword ? ['password'] : []), ...passkeys].join(', ');
}

function passkeysText({ passkeys }: Person): string {
  return counted(passkeys, 'passkey');
}
