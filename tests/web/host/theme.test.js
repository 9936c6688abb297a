import assert from "node:assert/strict";
import { test } from "node:test";
import { groundTheme, saidTheme } from "../../../src/rnnlens/page/web/host/theme.js";

test("JupyterLab says its theme in an attribute, VS Code by a class", () => {
  assert.equal(saidTheme({ jpThemeLight: "true", classes: [] }), "light");
  assert.equal(saidTheme({ jpThemeLight: "false", classes: ["vscode-light"] }), "dark");
  assert.equal(saidTheme({ classes: ["x", "vscode-light"] }), "light");
  assert.equal(saidTheme({ classes: ["vscode-dark"] }), "dark");
  assert.equal(saidTheme({ classes: ["vscode-high-contrast"] }), "dark");
  assert.equal(saidTheme({ classes: ["vscode-high-contrast", "vscode-high-contrast-light"] }), "light");
  assert.equal(saidTheme({ classes: ["body"] }), null);
});

test("elsewhere the nearest background that can be seen tells", () => {
  assert.equal(groundTheme(["rgba(0, 0, 0, 0)", "rgb(250, 250, 250)", "rgb(0, 0, 0)"]), "light");
  assert.equal(groundTheme(["rgba(255, 255, 255, 0.1)", "rgb(17, 17, 17)"]), "dark");
  assert.equal(groundTheme(["rgba(30, 30, 30, 0.9)"]), "dark");
  assert.equal(groundTheme(["oklch(0.2 0 0)", "rgb(255, 255, 255)"]), "light");
  assert.equal(groundTheme([]), "light");
});
