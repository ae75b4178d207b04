import { Card } from '../parts/card.js';
import { Copyable } from '../parts/copyable.js';

interface McpSettingsProps {
  readonly url: string;
  readonly hasOAuth: boolean;
}

/** How assistants and editors reach the tools. */
export function McpSettings({ url, hasOAuth }: McpSettingsProps) {
  const settings = JSON.stringify({ mcpServers: { darkroom: { type: 'http', url } } }, null, 2);
  const note = hasOAuth
    ? 'An assistant or editor that speaks MCP needs this address alone; it brings you here to ask for access.'
    : 'An assistant or editor that speaks MCP needs this address, and an API key as its bearer token.';
  return (
    <Card id="mcp" title="MCP server" note={note}>
      <h3>Address</h3>
      <Copyable text={url} what="the address of the MCP server" />
      <h3>Claude Code</h3>
      <Copyable text={`claude mcp add --transport http darkroom ${url}`} what="the command for Claude Code" />
      <h3>Editors, as JSON</h3>
      <Copyable text={settings} what="the settings for editors" />
    </Card>
  );
}
