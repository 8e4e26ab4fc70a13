package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/configs"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/typo"
	"github.com/chessbrain/chessbrain/run/setup"
)

func newRecipes() *cobra.Command {
	c := &cobra.Command{
		Use:   "recipes",
		Short: "The configurations inside the program: list, show",
		Long: `Recipes are configurations that are known to work, each with what to expect of it. --recipe NAME begins a run
with one; chessbrain recipes show NAME > my.textproto is the beginning of one's own, for --config.`,
		Example: `  chessbrain recipes show laptop
  chessbrain train runs/a --recipe speedrun`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return listRecipes(c) },
	}
	list := &cobra.Command{
		Use:   "list",
		Short: "Every recipe in a line",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return listRecipes(c) },
	}
	show := &cobra.Command{
		Use:   "show NAME",
		Short: "The text of a recipe, or with example, every key with its default",
		Args:  exactArgs(1, "name one recipe"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return recipeNames(), noFiles
		},
		RunE: func(c *cobra.Command, args []string) error {
			text, ok := configs.Text(args[0])
			if !ok {
				return unknownRecipe(args[0])
			}
			_, err := fmt.Fprint(c.OutOrStdout(), text)
			return err
		},
	}
	c.AddCommand(list, show)
	return c
}

func listRecipes(c *cobra.Command) error {
	var entries []entry
	for _, r := range configs.Recipes() {
		entries = append(entries, entry{fmt.Sprintf("%-6s %s", r.Command, r.Name), r.About})
	}
	_, err := fmt.Fprintln(c.OutOrStdout(), "chessbrain COMMAND RUN --recipe NAME:\n\n"+strings.Join(columns(entries), "\n"))
	return err
}

func recipeNames() (names []string) {
	for _, r := range configs.Recipes() {
		names = append(names, r.Name)
	}
	return names
}

func unknownRecipe(name string) error {
	return usagef("no recipe %q; there are: %s; chessbrain recipes says what each is for%s", name, strings.Join(recipeNames(), ", "), typo.Meant(name, recipeNames()...))
}

// recipe is a recipe as a configuration file.
func recipe(name string) (*config.File, error) {
	text, ok := configs.Text(name)
	if !ok || name == configs.Models || name == configs.Example {
		return nil, unknownRecipe(name)
	}
	return config.Parse("recipe "+name, []byte(text))
}

// otherwise is the recipe of a new run that names neither a configuration nor a net, where
// that recipe's can be trained.
func otherwise(e *config.Effective) (*config.File, error) {
	if !setup.TakesSparse(e) {
		return nil, nil
	}
	return recipe("first")
}
