import { describe, expect, it } from "vitest";
import { hostCapabilities, hostContext, styleVariables, type Surroundings } from "./host-context";

/** The keys that the Apps extension of 2026-01-26 lists; Views refuse the handshake for any other. */
const OFFICIAL = new Set(
  `
    --border-radius-full --border-radius-lg --border-radius-md --border-radius-sm --border-radius-xl
    --border-radius-xs --border-width-regular --color-background-danger --color-background-disabled
    --color-background-ghost --color-background-info --color-background-inverse --color-background-primary
    --color-background-secondary --color-background-success --color-background-tertiary
    --color-background-warning --color-border-danger --color-border-disabled --color-border-ghost
    --color-border-info --color-border-inverse --color-border-primary --color-border-secondary
    --color-border-success --color-border-tertiary --color-border-warning --color-ring-danger --color-ring-info
    --color-ring-inverse --color-ring-primary --color-ring-secondary --color-ring-success --color-ring-warning
    --color-text-danger --color-text-disabled --color-text-ghost --color-text-info --color-text-inverse
    --color-text-primary --color-text-secondary --color-text-success --color-text-tertiary --color-text-warning
    --font-heading-2xl-line-height --font-heading-2xl-size --font-heading-3xl-line-height
    --font-heading-3xl-size --font-heading-lg-line-height --font-heading-lg-size --font-heading-md-line-height
    --font-heading-md-size --font-heading-sm-line-height --font-heading-sm-size --font-heading-xl-line-height
    --font-heading-xl-size --font-heading-xs-line-height --font-heading-xs-size --font-mono --font-sans
    --font-text-lg-line-height --font-text-lg-size --font-text-md-line-height --font-text-md-size
    --font-text-sm-line-height --font-text-sm-size --font-text-xs-line-height --font-text-xs-size
    --font-weight-bold --font-weight-medium --font-weight-normal --font-weight-semibold --shadow-hairline
    --shadow-lg --shadow-md --shadow-sm
`.trim().split(/\s+/),
);

const tokens: Record<string, string> = { "--panel": "#ffffff", "--ink": "#1c1c1a", "--line": "#e0dfda", "--bad": "#b8322a" };

function around(change: Partial<Surroundings> = {}): Surroundings {
  return {
    theme: "dark",
    read: (token) => tokens[token] ?? "",
    place: { mode: "inline", width: 579.6, height: 240 },
    locale: "de-CH",
    timeZone: "Europe/Zurich",
    touch: false,
    hover: true,
    version: "0.1.0",
    toolJson: '{"name":"t","inputSchema":{"type":"object"}}',
    ...change,
  };
}

describe("styleVariables", () => {
  it("sends official keys only, whatever the style sheet holds", () => {
    expect(OFFICIAL.size).toBe(76);
    for (const read of [around().read, () => "", () => "red"]) {
      expect(Object.keys(styleVariables(read)).filter((key) => !OFFICIAL.has(key))).toEqual([]);
    }
  });

  it("names every official key when the style sheet is whole", () => {
    expect(new Set(Object.keys(styleVariables(() => "red")))).toEqual(OFFICIAL);
  });

  it("follows the window and leaves out what it does not know", () => {
    const variables = styleVariables(around().read);
    expect(variables["--color-background-primary"]).toBe("#ffffff");
    expect(variables["--color-background-danger"]).toBe("color-mix(in srgb, #b8322a 12%, transparent)");
    expect(variables["--color-text-info"]).toBeUndefined();
  });
});

describe("hostContext", () => {
  it("says what stands around the View", () => {
    const { styles, ...rest } = hostContext(around());
    expect(styles).toBeDefined();
    expect(rest).toMatchInlineSnapshot(`
      {
        "availableDisplayModes": [
          "inline",
          "fullscreen",
          "pip",
        ],
        "containerDimensions": {
          "maxHeight": 1200,
          "width": 580,
        },
        "deviceCapabilities": {
          "hover": true,
          "touch": false,
        },
        "displayMode": "inline",
        "locale": "de-CH",
        "platform": "desktop",
        "safeAreaInsets": {
          "bottom": 0,
          "left": 0,
          "right": 0,
          "top": 0,
        },
        "theme": "dark",
        "timeZone": "Europe/Zurich",
        "toolInfo": {
          "tool": {
            "inputSchema": {
              "type": "object",
            },
            "name": "t",
          },
        },
        "userAgent": "usher/0.1.0",
      }
    `);
  });

  it.each(["fullscreen", "pip"] as const)("says the whole size of the box in %s", (mode) => {
    const context = hostContext(around({ place: { mode, width: 399.6, height: 271.2 } }));
    expect([context.displayMode, context.containerDimensions]).toEqual([mode, { width: 400, height: 271 }]);
  });

  it.each(['{"name":"t"}', '{"name":"t","inputSchema":{"type":"string"}}', "not JSON", "[]"])(
    "leaves out a tool that would break the handshake: %s",
    (toolJson) => {
      expect(hostContext(around({ toolJson }))).not.toHaveProperty("toolInfo");
    },
  );
});

describe("hostCapabilities", () => {
  it("advertises what has an answer, and the sandbox as it was granted", () => {
    expect(hostCapabilities('{"permissions":{"clipboardWrite":{}},"csp":{"connectDomains":[]}}', false, false)).toEqual({
      openLinks: {},
      downloadFile: {},
      serverTools: { listChanged: true },
      serverResources: { listChanged: true },
      logging: {},
      message: { text: {}, resource: {}, resourceLink: {} },
      updateModelContext: { text: {}, resource: {}, resourceLink: {}, structuredContent: {} },
      sandbox: { permissions: { clipboardWrite: {} }, csp: { connectDomains: [] } },
    });
    expect(hostCapabilities("null", false, false)).not.toHaveProperty("sandbox");
    expect(hostCapabilities("null", true, false)).toMatchObject({ sampling: {} });
  });

  it("names pictures only where the model takes them, and never sounds", () => {
    const { message, updateModelContext } = hostCapabilities("null", false, true);
    expect(message).toEqual({ text: {}, image: {}, resource: {}, resourceLink: {} });
    expect(updateModelContext).toEqual({ ...message, structuredContent: {} });
  });
});

describe("the locale", () => {
  it("is one that a View can format with, also where the system's is none", () => {
    expect(hostContext(around({ locale: "C" })).locale).toBe("en");
    expect(hostContext(around({ locale: "de-CH" })).locale).toBe("de-CH");
  });
});
