import type { GenerationInput } from '../server-types.js';
import { Card } from '../parts/card.js';
import { Loaded } from '../parts/loaded.js';
import { SectionLink } from '../parts/section-link.js';
import { useData } from '../use-data.js';

/** What a generation of this page was asked for, and a way to ask for it again. */
export function TaskInput({ id }: { readonly id: string }) {
  const data = useData<{ readonly input: GenerationInput | null }>(`/playground/generations/${id}/input`);
  return (
    <Card id="input" title="What was asked for">
      <Loaded data={data} what="what was asked for">
        {({ input }) =>
          input === null ? (
            <p class="empty">It is not kept any more, as nothing was charged for it.</p>
          ) : (
            <>
              <Text name="Prompt" text={input.prompt} />
              {input.negative_prompt === null ? null : <Text name="Negative prompt" text={input.negative_prompt} />}
              <dl class="facts spaced">
                {Object.entries(input.parameters).map(([name, value]) => (
                  <div key={name}>
                    <dt>{name}</dt>
                    <dd>{typeof value === 'string' ? value : JSON.stringify(value)}</dd>
                  </div>
                ))}
                {input.references.length === 0 ? null : (
                  <div>
                    <dt>Reference files</dt>
                    <dd>{input.references.length}</dd>
                  </div>
                )}
              </dl>
              <p>
                <SectionLink name="playground" query={{ again: id }}>
                  Open it in the playground
                </SectionLink>
              </p>
            </>
          )
        }
      </Loaded>
    </Card>
  );
}

function Text({ name, text }: { readonly name: string; readonly text: string }) {
  return (
    <dl class="long-text">
      <dt>{name}</dt>
      <dd>{text}</dd>
    </dl>
  );
}
