import type { ComponentChildren } from 'preact';
import { Copyable } from '../parts/buttons.js';
import { Card, PlaceLink } from '../parts/parts.js';
import { Tabs } from '../parts/tabs.js';
import { changeQuery, place } from '../places.js';

interface McpProps {
  url: string;
  /** Clients sign in with OAuth; without it they need a key. */
  hasOAuth: boolean;
}

interface Client {
  name: string;
  title: string;
  steps: ComponentChildren;
  /** The text to copy: a command, or an object of settings. */
  text?: string | object | undefined;
  /** The name of the text; that of the settings for the client where absent. */
  what?: string;
  note?: ComponentChildren;
}

/** The address of the MCP server, and how each client takes it. The selected client is in the address. */
export function McpCard({ url, hasOAuth }: McpProps) {
  // The connectors of Claude take no key.
  const offered = clientsOf({ url, hasOAuth }).filter(({ name }) => hasOAuth || name !== 'claude');
  const selected = offered.find(({ name }) => name === place.value.query['client']) ?? offered[0];
  if (selected === undefined) return null;
  const { name, title, steps, text, what = `the settings for ${title}`, note } = selected;
  const access = hasOAuth
    ? 'A client needs this address alone: it leads you to sign in.'
    : 'A client needs this address and an API key.';
  return (
    <Card id="mcp" title="MCP server" note={access}>
      <Copyable text={url} what="the address of the MCP server" isWrapped />
      <div>
        <Tabs
          label="Client"
          tabs={offered}
          selected={name}
          select={(client) => changeQuery({ client })}
          panel="mcp-client"
        />
        <div id="mcp-client" class="client stack-s" role="tabpanel" aria-label={title}>
          <p>{steps}</p>
          {note}
          {text === undefined ? null : typeof text === 'string' ? (
            <Copyable text={text} what={what} isWrapped />
          ) : (
            <Copyable text={JSON.stringify(text, null, 2)} what={what} />
          )}
        </div>
      </div>
    </Card>
  );
}

/** The version of `mcp-remote` that the project is tested with, as `docs/mcp.md` has it. */
const MCP_REMOTE = 'mcp-remote@0.15.1';

const bearer = (key: string): { Authorization: string } => ({ Authorization: `Bearer ${key}` });

/** The clients that `docs/mcp.md` describes. */
function clientsOf({ url, hasOAuth }: McpProps): Client[] {
  const { host, protocol, hostname } = new URL(url);
  const isPrivate = protocol !== 'https:' || /^(localhost|127\.|10\.|192\.168\.|\[)/.test(hostname);
  const id = 'darkroom-key';
  const command = `claude mcp add --transport http darkroom ${url}`;
  const remote = { command: 'npx', args: ['-y', MCP_REMOTE, url, '--transport', 'http-only'] };
  return [
    {
      name: 'claude-code',
      title: 'Claude Code',
      what: 'the command for Claude Code',
      steps: hasOAuth ? (
        <>
          Run this in a terminal. Then <code>/mcp</code> inside Claude Code opens the sign-in page.
        </>
      ) : (
        <>Run this in a terminal, with an API key in {KEY}</>
      ),
      text: hasOAuth ? command : `${command} --header "Authorization: ${bearer('$DARKROOM_API_KEY').Authorization}"`,
    },
    {
      name: 'claude',
      title: 'Claude',
      steps:
        'On the web or in the desktop application: open the settings, choose Connectors, add a custom connector, and paste the address above.',
      note: isPrivate ? (
        <p class="muted">
          {`Claude connects from the internet, which can’t reach ${host}. The operator can give the service a public address with HTTPS.`}
        </p>
      ) : null,
    },
    {
      name: 'cursor',
      title: 'Cursor',
      steps: (
        <>
          Write this to <code>.cursor/mcp.json</code>. Cursor needs an API key, here from the variable {KEY}
        </>
      ),
      text: { mcpServers: { darkroom: { url, headers: bearer('${env:DARKROOM_API_KEY}') } } },
    },
    {
      name: 'vscode',
      title: 'VS Code',
      steps: (
        <>
          Write this to <code>.vscode/mcp.json</code>. The editor{' '}
          {hasOAuth ? 'opens the sign-in page' : 'asks for an API key'} when it first connects.
        </>
      ),
      text: hasOAuth
        ? { servers: { darkroom: { type: 'http', url } } }
        : {
            inputs: [{ type: 'promptString', id, description: 'Darkroom API key', password: true }],
            servers: { darkroom: { type: 'http', url, headers: bearer(`\${input:${id}}`) } },
          },
    },
    {
      name: 'other',
      title: 'Other clients',
      what: 'the settings for other clients',
      steps: (
        <>
          Any client of the Model Context Protocol takes the address, with the transport “Streamable HTTP”.{' '}
          {hasOAuth ? 'Most lead you to the sign-in page. Others send' : 'Let it send'} an API key as{' '}
          <code>Authorization: Bearer …</code>.
        </>
      ),
      note: hasOAuth ? <p>A client that only starts programs takes these settings:</p> : null,
      text: hasOAuth ? { mcpServers: { darkroom: remote } } : undefined,
    },
  ];
}

/** Where the key comes from. A model decides what it spends. */
const KEY = (
  <>
    <code>DARKROOM_API_KEY</code>.{' '}
    <PlaceLink page="keys" query={{ new: '1' }}>
      Create a key
    </PlaceLink>{' '}
    with a monthly limit, since a model decides what to create.
  </>
);
